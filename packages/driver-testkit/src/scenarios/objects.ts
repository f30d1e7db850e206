import type { App } from '../actor/protocol.js'
import type { ScenarioObject, ScenarioStep, ScenarioWorkload } from './format.js'

const appProtocols: Readonly<Record<App, string>> = {
  http: 'http',
  http2: 'http2',
  https: 'tcp',
  grpc: 'grpc',
  'grpc-tls': 'tcp',
  tcp: 'tcp',
  'tcp-server-first': 'tcp-server-first',
  'connect-proxy': 'tcp',
  'socks-proxy': 'tcp',
}

const GATEWAY_API = 'gateway.networking.k8s.io/'
/** Kinds that another API group has as well. Those of the Gateway API are called as the mesh calls them. */
const sharedKinds: ReadonlySet<string> = new Set(['ReferenceGrant', 'TCPRoute'])

/** `Kind namespace/name`, by which objects are replaced and removed. */
export function objectKey(object: ScenarioObject): string {
  const {
    apiVersion = '',
    kind = '',
    metadata,
  } = object as { readonly apiVersion?: string; readonly kind?: string; readonly metadata?: ScenarioObject }
  const { name, namespace } = (metadata ?? {}) as { readonly name?: string; readonly namespace?: string }
  const isOfGateway = apiVersion.startsWith(GATEWAY_API) && sharedKinds.has(kind)
  return `${isOfGateway ? 'Gateway' : ''}${kind} ${namespace === undefined ? '' : `${namespace}/`}${name ?? ''}`
}

/** Objects by their keys. */
export function keyed(objects: readonly ScenarioObject[]): Map<string, ScenarioObject> {
  return new Map(objects.map((object) => [objectKey(object), object]))
}

/** Changes objects as a step says. Throws for one that is to be removed and is not there. */
export function changeObjects(objects: Map<string, ScenarioObject>, { apply = [], remove = [] }: ScenarioStep): void {
  for (const key of remove)
    if (!objects.delete(key))
      throw new Error(`there is no ${key} to remove; there are ${[...objects.keys()].join(', ')}`)
  for (const [key, object] of keyed(apply)) objects.set(key, object)
}

/** Spec of the MeshConfig of a scenario: policies are in force unless it says otherwise. */
export function meshSpec(spec: ScenarioObject | undefined): ScenarioObject {
  const { traffic, ...rest } = (spec ?? {}) as { readonly traffic?: ScenarioObject } & ScenarioObject
  return {
    ...rest,
    traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false, ...traffic },
  }
}

/** The parts of a workload's name. */
export function splitName({ name }: Pick<ScenarioWorkload, 'name'>): {
  readonly namespace: string
  readonly name: string
} {
  const [namespace = '', own = ''] = name.split('/')
  return { namespace, name: own }
}

/** The Service of a workload; undefined if it has none. */
export function workloadService(workload: ScenarioWorkload): ScenarioObject | undefined {
  const ports = Object.entries(workload.ports ?? {})
  if (ports.length === 0 || workload.service === false) return undefined
  const metadata = splitName(workload)
  const spec = {
    selector: { app: metadata.name },
    ports: ports.map(([portName, { port, app = 'http', protocol }]) => ({
      name: portName,
      port,
      targetPort: port,
      appProtocol: protocol ?? appProtocols[app],
    })),
  }
  return { apiVersion: 'v1', kind: 'Service', metadata, spec }
}
