import {
  meshSpec,
  type ScenarioObject,
  type ScenarioWorkload,
  splitName,
  workloadService,
} from '@osm-ts/driver-testkit'
import { account, meshConfig, workload as workloadDocument } from '../yaml.js'

/** What every actor is told. */
export interface ActorSettings {
  readonly program: string
  readonly control: string
  /** Certificate that actors serve TLS by, as JSON. */
  readonly certificate: string
}

type Qualified = `${string}/${string}`

/** MeshConfig of a scenario. */
export function meshDocument(spec: ScenarioObject | undefined): string {
  return meshConfig(meshSpec(spec))
}

/** The objects that stand for an actor: its account, itself, and its Service. */
export function workloadDocuments(workload: ScenarioWorkload, settings: ActorSettings): readonly string[] {
  const name = workload.name as Qualified
  const { namespace, name: own } = splitName(workload)
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
  const service = workloadService(workload)
  return [
    account(`${namespace}/${workload.account ?? own}`),
    `${JSON.stringify(document)}\n`,
    ...(service === undefined ? [] : [`${JSON.stringify(service)}\n`]),
  ]
}
