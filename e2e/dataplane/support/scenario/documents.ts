import type { App } from '../../actor/protocol.js'
import { account, meshConfig, workload as workloadDocument } from '../yaml.js'
import type { ScenarioObject, ScenarioWorkload } from './format.js'

/** What every actor is told. */
export interface ActorSettings {
  readonly program: string
  readonly control: string
  /** Certificate that actors serve TLS by, as JSON. */
  readonly certificate: string
}

const appProtocols: Readonly<Record<App, string>> = {
  http: 'http',
  http2: 'http2',
  https: 'tcp',
  grpc: 'grpc',
  'grpc-tls': 'tcp',
  tcp: 'tcp',
  'tcp-server-first': 'tcp-server-first',
  'connect-proxy': 'tcp',
}

type Qualified = `${string}/${string}`

/** `Kind namespace/name`, by which objects are replaced and removed. */
export function objectKey(object: ScenarioObject): string {
  const { kind, metadata } = object as { readonly kind?: string; readonly metadata?: ScenarioObject }
  const { name, namespace } = (metadata ?? {}) as { readonly name?: string; readonly namespace?: string }
  return `${kind ?? ''} ${namespace === undefined ? '' : `${namespace}/`}${name ?? ''}`
}

/** MeshConfig of a scenario: policies are in force unless it says otherwise. */
export function meshDocument(spec: ScenarioObject | undefined): string {
  const { traffic, ...rest } = (spec ?? {}) as { readonly traffic?: ScenarioObject } & ScenarioObject
  return meshConfig({
    ...rest,
    traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false, ...traffic },
  })
}

/** The objects that stand for an actor: its account, itself, and its Service. */
export function workloadDocuments(workload: ScenarioWorkload, settings: ActorSettings): readonly string[] {
  const name = workload.name as Qualified
  const [namespace = '', own = ''] = name.split('/')
  const ports = Object.entries(workload.ports ?? {})
  const apps = Object.fromEntries(ports.map(([port, { app = 'http' }]) => [port, app]))
  const document = JSON.parse(
    workloadDocument(name, {
      account: workload.account ?? own,
      program: settings.program,
      replicas: workload.replicas ?? 1,
      labels: workload.labels ?? {},
      annotations: workload.annotations ?? {},
      env: {
        ACTOR: name,
        CONTROL: settings.control,
        CERTIFICATE: settings.certificate,
        PORTS: JSON.stringify(apps),
        ...(workload.bind === undefined ? {} : { BIND: workload.bind }),
      },
    }),
  ) as { spec: Record<string, unknown> }
  document.spec.ports = ports.map(([portName, { port }]) => ({ name: portName, port }))
  if (workload.sidecar === false) document.spec.sidecar = false
  return [
    account(`${namespace}/${workload.account ?? own}`),
    `${JSON.stringify(document)}\n`,
    ...(ports.length === 0 || workload.service === false ? [] : [serviceDocument(workload)]),
  ]
}

function serviceDocument(workload: ScenarioWorkload): string {
  const [namespace, name] = workload.name.split('/')
  const ports = Object.entries(workload.ports ?? {}).map(([portName, { port, app = 'http', protocol }]) => ({
    name: portName,
    port,
    targetPort: port,
    appProtocol: protocol ?? appProtocols[app],
  }))
  const spec = { selector: { app: name }, ports }
  return `${JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec })}\n`
}
