import { newProxyUUID, proxyKey, type ProxyKey } from '@osm-ts/core'
import type { ProxyUUID } from '@osm-ts/driver-api'

/** A generated mesh: what users would write, and the instances that a supervisor would. */
export interface GeneratedMesh {
  /** YAML of services, accounts and policy. */
  readonly policy: string
  /** YAML of instances, one for each proxy. */
  readonly instances: string
  /** YAML of the one endpoint that a benchmark moves; `address` counts up from 0. */
  readonly movable: (address: number) => string
  readonly proxies: readonly GeneratedProxy[]
}

/** One proxy of a generated mesh. */
export interface GeneratedProxy {
  readonly uuid: ProxyUUID
  readonly key: ProxyKey
  readonly account: { readonly namespace: string; readonly name: string }
}

/** How large a mesh is. */
export interface MeshSize {
  readonly services: number
  /** Proxies; they run as services in turn. */
  readonly proxies: number
  /** Services that each service may call, besides the hub. */
  readonly calls: number
  /** True: every proxy may call the service whose endpoint moves; else only the first one. */
  readonly everyoneCallsHub: boolean
}

const NAMESPACES = 10

const serviceOf = (index: number) => ({ namespace: `ns-${index % NAMESPACES}`, name: `svc-${index}` })

/**
 * Generates a mesh with SMI policy: each service calls some others on two routes, and a service `hub` has the one endpoint that moves.
 */
export function generateMesh({ services, proxies, calls, everyoneCallsHub }: MeshSize): GeneratedMesh {
  const documents: string[] = []
  for (let n = 0; n < NAMESPACES; n += 1) documents.push(routeGroup(`ns-${n}`))
  documents.push(routeGroup('hub'), ...service('hub', 'hub'))
  const callersOf = new Map<string, string[]>()
  for (let index = 0; index < services; index += 1) {
    const { namespace, name } = serviceOf(index)
    documents.push(...service(namespace, name))
    for (let step = 1; step <= calls; step += 1) {
      const callee = serviceOf((index + step) % services)
      const key = `${callee.namespace}/${callee.name}`
      callersOf.set(key, [
        ...(callersOf.get(key) ?? []),
        `  - { kind: ServiceAccount, name: ${name}, namespace: ${namespace} }`,
      ])
    }
  }
  const accounts = Array.from({ length: services }, (_, index) => serviceOf(index))
  const hubCallers = everyoneCallsHub ? accounts : accounts.slice(0, 1)
  callersOf.set(
    'hub/hub',
    hubCallers.map(({ namespace, name }) => `  - { kind: ServiceAccount, name: ${name}, namespace: ${namespace} }`),
  )
  for (const [callee, sources] of callersOf) {
    const [namespace = '', name = ''] = callee.split('/')
    documents.push(trafficTarget(namespace, name, sources))
  }
  const list = Array.from({ length: proxies }, (_, index) => ({
    uuid: newProxyUUID(),
    account: serviceOf(index % services),
    index,
  }))
  return {
    policy: documents.join('---\n'),
    instances: list.map((proxy) => instance(proxy)).join('---\n'),
    movable: (address) => movable(address),
    proxies: list.map(({ uuid, account }) => ({ uuid, account, key: proxyKey({ uuid, serviceAccount: account }) })),
  }
}

function routeGroup(namespace: string): string {
  return `apiVersion: specs.smi-spec.io/v1alpha4
kind: HTTPRouteGroup
metadata: { name: routes, namespace: ${namespace} }
spec:
  matches:
  - { name: read, pathRegex: "/api/.*", methods: [GET] }
  - { name: write, pathRegex: "/api/items", methods: [POST] }
`
}

function service(namespace: string, name: string): readonly string[] {
  return [
    `apiVersion: v1
kind: Service
metadata: { name: ${name}, namespace: ${namespace} }
spec:
  selector: { app: ${name} }
  ports: [{ name: http, port: 80, targetPort: 8080 }]
`,
    `apiVersion: v1
kind: ServiceAccount
metadata: { name: ${name}, namespace: ${namespace} }
`,
  ]
}

function trafficTarget(namespace: string, name: string, sources: readonly string[]): string {
  return `apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: { name: ${name}, namespace: ${namespace} }
spec:
  destination: { kind: ServiceAccount, name: ${name}, namespace: ${namespace} }
  rules:
  - { kind: HTTPRouteGroup, name: routes, matches: [read, write] }
  sources:
${sources.join('\n')}
`
}

function instance({ uuid, account, index }: Omit<GeneratedProxy, 'key'> & { readonly index: number }): string {
  const { namespace, name } = account
  const address = `10.${128 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`
  return `apiVersion: standalone.openservicemesh.io/v1alpha1
kind: WorkloadInstance
metadata: { name: ${name}-${index}, namespace: ${namespace}, labels: { app: ${name} } }
spec:
  uuid: ${uuid}
  workload: ${name}
  serviceAccountName: ${name}
  sidecarClass: envoy
  mode: transparent
  addresses: ["${address}"]
  ports: [{ name: http, port: 8080 }]
  ready: true
  createdAt: "2026-01-01T00:00:00Z"
`
}

function movable(address: number): string {
  return `apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: hub, namespace: hub, labels: { app: hub } }
spec:
  serviceAccountName: hub
  ports: [{ name: http, port: 8080 }]
  address: 10.200.${(address >> 8) & 255}.${address & 255}
`
}
