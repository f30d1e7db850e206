import type { ScenarioObject, ScenarioWorkload } from '../format.js'
import { meshSpec, splitName, workloadService } from '../objects.js'

/** What every actor is told. */
export interface ActorSettings {
  /** Module that plays it. */
  readonly program: string
  readonly control: string
  /** Certificate that actors serve TLS by, as JSON. */
  readonly certificate: string
}

/** One document of a file: JSON is YAML, and a scenario's values need no other quoting rules. */
export function asDocument(object: ScenarioObject): string {
  return `${JSON.stringify(object)}\n`
}

export function namespaceDocument(name: string): string {
  return asDocument({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
}

/** MeshConfig of a scenario. */
export function meshDocument(spec: ScenarioObject | undefined): string {
  return asDocument({
    apiVersion: 'config.openservicemesh.io/v1alpha2',
    kind: 'MeshConfig',
    metadata: { namespace: 'osm-system', name: 'osm-mesh-config' },
    spec: meshSpec(spec),
  })
}

/** The objects that stand for an actor: its account, itself, and its Service. */
export function workloadDocuments(workload: ScenarioWorkload, settings: ActorSettings): readonly string[] {
  const { namespace, name } = splitName(workload)
  const { account = name, replicas = 1, labels, annotations = {}, sidecar } = workload
  const ports = Object.entries(workload.ports ?? {})
  const apps = Object.fromEntries(ports.map(([port, { app = 'http' }]) => [port, app]))
  const variables = {
    NAME: name,
    ACTOR: workload.name,
    CONTROL: settings.control,
    CERTIFICATE: settings.certificate,
    PORTS: JSON.stringify(apps),
    ...(workload.bind === undefined ? {} : { BIND: workload.bind }),
  }
  const spec = {
    serviceAccountName: account,
    replicas,
    ...(sidecar === false && { sidecar }),
    ports: ports.map(([portName, { port }]) => ({ name: portName, port })),
    command: [process.execPath, settings.program],
    env: Object.entries(variables).map(([key, value]) => ({ name: key, value })),
  }
  const service = workloadService(workload)
  return [
    asDocument({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name: account } }),
    asDocument({
      apiVersion: 'standalone.openservicemesh.io/v1alpha1',
      kind: 'Workload',
      metadata: { namespace, name, labels: { app: name, ...labels }, annotations },
      spec,
    }),
    ...(service === undefined ? [] : [asDocument(service)]),
  ]
}
