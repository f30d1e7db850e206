import fc from 'fast-check'

/*
 * Names come from small pools, so that objects of different namespaces are often called alike, and often refer to each other.
 */

/** Namespaces of those who must not notice anything. The last one is that of the control plane. */
export const CONTROL_PLANE = 'osm-system'
export const victims = ['bank', 'shop', CONTROL_PLANE] as const

/** Name in the certificate of the ingress gateway. */
export const GATEWAY_NAME = 'ingress-gateway.example'

/** Namespaces of attackers: before, between and after the others in the order of names, and one whose name is a label of host names. */
export const attackers = ['aaa', 'market', 'zzz', 'svc'] as const

export const services = ['web', 'db', 'gw'] as const
export const accounts = ['web', 'db', 'gw'] as const
export const plugins = ['house-rules', 'tracer'] as const
/** Hosts outside the mesh, and some that look like names of services. */
const hosts = ['partner.example', '*.example', '192.0.2.7', 'web.bank', 'db.svc', 'web', '*'] as const

/** Where objects are put, and whom they may name. */
export interface Place {
  /** Namespace of the objects. */
  readonly home: string
  /** Namespaces that references may name. */
  readonly named: readonly string[]
  /** Services that there may be in each of them. */
  readonly services: readonly string[]
  /** Service accounts likewise. */
  readonly accounts: readonly string[]
  /** Hosts outside the mesh, and what looks like one. */
  readonly hosts: readonly string[]
  /** Ports of those. */
  readonly ports: readonly number[]
}

/**
 * A place in a mesh of these names. Hosts that look like a service of a namespace that it may not name are left out: whose name `db.svc` is, is decided
 * by anyone who makes a namespace `svc`.
 */
export function placeIn(home: string, named: readonly string[]): Place {
  const own = hosts.filter((host) => {
    const namespace = host.split('.')[1] ?? ''
    return named.includes(namespace) || !isNamespace(namespace)
  })
  return { home, named, services, accounts, hosts: own, ports: [80, 443, 443, 9090] }
}

function isNamespace(name: string): boolean {
  return [...victims, ...attackers].some((namespace) => namespace === name)
}

export const serviceOf = (place: Place): fc.Arbitrary<string> => fc.constantFrom(...place.services)
export const accountOf = (place: Place): fc.Arbitrary<string> => fc.constantFrom(...place.accounts)
export const hostOf = (place: Place): fc.Arbitrary<string> => fc.constantFrom(...place.hosts)
export const numbered = (prefix: string): fc.Arbitrary<string> => fc.constantFrom(`${prefix}0`, `${prefix}1`)
export const namespaceIn = ({ named }: Place): fc.Arbitrary<string> => fc.constantFrom(...named)

/** UUID of the sidecar of a workload: the same on every run. */
export function uuidOf(namespace: string, app: string): string {
  const digits = Buffer.from(`${namespace}/${app}`.padEnd(8, '-')).toString('hex').slice(0, 24).padEnd(24, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4000-8000-${digits.slice(12, 24)}`
}

/** Address of the pod of a workload: a cluster gives out each once. */
export function podAddress(namespace: string, app: string): string {
  return `10.1.${lastNumbers(namespace, app)}`
}

/** Virtual address of a service: a cluster gives out each once. */
export function virtualAddress(namespace: string, service: string): string {
  return `10.96.${lastNumbers(namespace, service)}`
}

function lastNumbers(namespace: string, name: string): string {
  const order: readonly string[] = [...victims, ...attackers]
  return `${order.indexOf(namespace)}.${services.findIndex((each) => each === name) + 1}`
}

/** Addresses that somebody may write down: those of services and pods of others among them. */
export const writtenAddress = fc.oneof(
  fc.tuple(fc.constantFrom(...victims), fc.constantFrom(...services)).map((pair) => podAddress(...pair)),
  fc.tuple(fc.constantFrom(...victims), fc.constantFrom(...services)).map((pair) => virtualAddress(...pair)),
  fc.constant('192.0.2.7'),
)
