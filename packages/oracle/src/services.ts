import type { Known, Labels, Objects, Ref, ServicePort } from './objects.js'
import { isAbout, matchesByName, type ReadRequest } from './route-match.js'

/** Somewhere that a request may end up: workloads of one account, at one of their ports. */
export interface Place {
  readonly service: Ref
  readonly account: string
  readonly targetPort: number
  readonly readsRequests: boolean
  /** False if no workload of the account behind the service has a sidecar. */
  readonly hasSidecar: boolean
}

/** Protocols whose bytes are passed on as they are. */
const OPAQUE = ['https', 'tcp', 'tcp-server-first']

/** Values of appProtocol that stand for HTTP of any kind. */
const READ = ['http', 'http2', 'h2c', 'grpc', 'ws', 'kubernetes.io/h2c', 'kubernetes.io/ws']

/** Values of appProtocol that stand for TLS which the mesh does not open. */
const TLS = ['tls', 'wss', 'kubernetes.io/wss']

/** What a port speaks: what it is said to, or begins its name; undefined for HTTP of any kind. */
export function protocolOf({ appProtocol, name }: ServicePort): string | undefined {
  if (appProtocol !== undefined && appProtocol !== '') {
    const said = appProtocol.toLowerCase()
    if (READ.includes(said)) return undefined
    return TLS.includes(said) ? 'https' : (OPAQUE.find((protocol) => protocol === said) ?? 'tcp')
  }
  // Of two that begin a name the longer one is meant.
  return OPAQUE.toReversed().find((protocol) => name === protocol || name?.startsWith(`${protocol}-`) === true)
}

/** True if sidecars read the requests of a port. */
export function readsRequests(port: ServicePort): boolean {
  return protocolOf(port) === undefined
}

/** TCP port of a service by its number. */
export function portOf({ spec }: Known<'Service'>, number: number): ServicePort | undefined {
  if (spec.type === 'ExternalName') return undefined
  return (spec.ports ?? []).find(({ port, protocol = 'TCP' }) => port === number && protocol === 'TCP')
}

/** Where a request to a service port may end up. Empty if there is nowhere. */
export function places(
  objects: Objects,
  service: Known<'Service'>,
  port: ServicePort,
  request: ReadRequest | undefined,
): readonly Place[] {
  const split = splitOf(objects, service, port, request)
  if (split === undefined) return placesBehind(objects, service, port)
  return backendsOf(objects, split, port)
    .filter(({ weight }) => weight > 0)
    .flatMap((backend) => placesBehind(objects, backend.service, backend.port))
}

/** The TrafficSplit that shares out the request, if one does: those with matches first, then one without. */
function splitOf(
  objects: Objects,
  service: Known<'Service'>,
  port: ServicePort,
  request: ReadRequest | undefined,
): Known<'TrafficSplit'> | undefined {
  const splits = objects.list('TrafficSplit').filter((split) => {
    const exists = (split.spec.backends ?? []).some(
      (backend) =>
        backend.weight >= 0 && isServed(objects, objects.find('Service', { ...split, name: backend.service })),
    )
    return exists && isApex(split, service)
  })
  const limited = splits.filter(({ spec }) => (spec.matches ?? []).length > 0)
  const [whole] = splits.filter(({ spec }) => (spec.matches ?? []).length === 0)
  const candidates = [
    ...(readsRequests(port) && request !== undefined
      ? limited.filter((split) => isAmong(objects, split, request))
      : []),
    ...(whole === undefined ? [] : [whole]),
  ]
  return candidates.find((split) => backendsOf(objects, split, port).length > 0)
}

function isAmong(objects: Objects, split: Known<'TrafficSplit'>, request: ReadRequest): boolean {
  return (split.spec.matches ?? []).some(({ name }) => {
    const group = objects.find('HTTPRouteGroup', { namespace: split.namespace, name })
    const matches = matchesByName(group?.spec.matches ?? [])
    return [...matches.values()].some((match) => isAbout(match, request.method, request.path, request.headers))
  })
}

interface Backend {
  readonly service: Known<'Service'>
  readonly port: ServicePort
  readonly weight: number
}

/** Backends that have a port for the traffic of the apex's port, with their weights. */
function backendsOf(objects: Objects, split: Known<'TrafficSplit'>, apex: ServicePort): readonly Backend[] {
  const usable = (split.spec.backends ?? []).filter(({ weight }) => weight >= 0)
  const names = [...new Set(usable.map(({ service }) => service))]
  return names.flatMap((name) => {
    const service = objects.find('Service', { namespace: split.namespace, name })
    if (!isServed(objects, service)) return []
    const named = (service.spec.ports ?? [])
      .filter(
        ({ name: portName, protocol = 'TCP' }) =>
          protocol === 'TCP' && portName !== undefined && portName === apex.name,
      )
      .toSorted((a, b) => a.port - b.port)
    const port = portOf(service, apex.port) ?? named[0]
    if (port === undefined || readsRequests(port) !== readsRequests(apex)) return []
    const weight = usable.filter((backend) => backend.service === name).reduce((sum, each) => sum + each.weight, 0)
    return [{ service, port, weight }]
  })
}

/** True if the mesh serves a Service: it selects workloads, or another cluster or a TrafficSplit is behind its name. Others are outside. */
export function isServed(objects: Objects, service: Known<'Service'> | undefined): service is Known<'Service'> {
  if (service === undefined || service.spec.type === 'ExternalName') return false
  if (Object.keys(service.spec.selector ?? {}).length > 0) return true
  const isSplit = objects.list('TrafficSplit').some((split) => isApex(split, service))
  return isSplit || isRouted(objects, service) || objects.find('ServiceImport', service) !== undefined
}

/** True if a Service is the parent of a route of its own namespace. */
function isRouted(objects: Objects, { namespace, name }: Ref): boolean {
  return (['HTTPRoute', 'GRPCRoute', 'GatewayTCPRoute', 'TLSRoute'] as const)
    .flatMap((kind) => objects.list(kind).filter((route) => route.namespace === namespace))
    .flatMap(({ spec: { parentRefs = [] } }) => parentRefs)
    .some(
      (parent) =>
        parent.group === '' &&
        parent.kind === 'Service' &&
        parent.name === name &&
        (parent.namespace ?? namespace) === namespace,
    )
}

/** True if a split shares out the traffic of a service. */
export function isApex({ namespace: home, spec }: Known<'TrafficSplit'>, service: Ref): boolean {
  const [name, namespace = home] = spec.service.split('.')
  return home === service.namespace && namespace === home && name === service.name
}

/** Accounts and ports of the workloads that a service selects. */
export function placesBehind(objects: Objects, service: Known<'Service'>, port: ServicePort): readonly Place[] {
  const found = new Map<string, Place>()
  const workloads = workloadsOf(objects, service)
  for (const workload of workloads) {
    const { serviceAccountName: account = 'default', ports = [] } = workload.spec
    const { targetPort = port.port } = port
    const number = typeof targetPort === 'number' ? targetPort : ports.find(({ name }) => name === targetPort)?.port
    if (number === undefined) continue
    const { namespace, name } = service
    const hasSidecar = workloads.some(
      ({ spec }) => (spec.serviceAccountName ?? 'default') === account && spec.sidecar !== false,
    )
    const place = {
      service: { namespace, name },
      account,
      targetPort: number,
      readsRequests: readsRequests(port),
      hasSidecar,
    }
    found.set(`${account}|${number}`, place)
  }
  return [...found.values()]
}

/** Accounts of the workloads that a service selects. */
export function accountsBehind(objects: Objects, service: Known<'Service'>): readonly string[] {
  return workloadsOf(objects, service).map(({ spec: { serviceAccountName = 'default' } }) => serviceAccountName)
}

/** Workloads that a service selects. */
export function workloadsOf(objects: Objects, service: Known<'Service'>): readonly Known<'Workload'>[] {
  return objects
    .list('Workload')
    .filter(({ namespace, labels }) => namespace === service.namespace && isSelected(service.spec.selector, labels))
}

function isSelected(selector: Labels | undefined, labels: Labels): boolean {
  const wanted = Object.entries(selector ?? {})
  return wanted.length > 0 && wanted.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
}
