import { type ScenarioObject, type ScenarioWorkload, splitName, workloadService } from '@osm-ts/driver-testkit'
import { tlsSecret } from '../tls-secret.js'
import { numberedPods } from '../workloads.js'

/** Marks the pods of workloads. */
export const actorLabel = 'scenario-actor'

const unprivileged = 1024
const tlsApps = ['https', 'grpc-tls']
const noSidecar = { 'openservicemesh.io/sidecar-injection': 'disabled' }

/**
 * What stands for a workload: its account, its pods, their certificate and its Service. Pods are numbered as instances of workloads are.
 *
 * @param objects - those of the scenario: a headless Service among them gives the pods that it selects their names
 */
export function podObjects(
  workload: ScenarioWorkload,
  objects: Iterable<ScenarioObject>,
  image: string,
): readonly ScenarioObject[] {
  const { namespace, name } = splitName(workload)
  const { account = name, replicas = 1, labels = {}, annotations = {}, sidecar, bind } = workload
  const ports = Object.values(workload.ports ?? {})
  const certificate = ports.some(({ app = 'http' }) => tlsApps.includes(app)) ? `${name}-certificate` : undefined
  const allLabels = { ...labels, [actorLabel]: name }
  const pods = numberedPods(
    {
      name,
      namespace,
      image,
      account,
      replicas,
      labels: allLabels,
      annotations: { ...annotations, ...(sidecar === false && noSidecar) },
      ports: Object.fromEntries(ports.map(({ port, app = 'http' }) => [port, app])),
      listensOnPodAddress: bind === 'own',
      ...(certificate !== undefined && { certificate }),
      ...(ports.some(({ port }) => port < unprivileged) && { spec: { securityContext: lowPorts } }),
    },
    headlessServiceOf(namespace, { ...allLabels, app: name }, objects) ?? name,
  )
  const service = workloadService(workload)
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name: account } },
    ...(certificate === undefined ? [] : [certificateOf(namespace, certificate)]),
    pods as ScenarioObject,
    ...(service === undefined ? [] : [service]),
  ]
}

/** The application runs as a user who may not listen on low ports otherwise. */
const lowPorts = { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }] }

function headlessServiceOf(
  namespace: string,
  labels: Readonly<Record<string, string>>,
  objects: Iterable<ScenarioObject>,
): string | undefined {
  for (const object of objects) {
    const { kind, metadata, spec } = object as unknown as PossibleService
    if (kind !== 'Service' || metadata.namespace !== namespace || spec?.clusterIP !== 'None') continue
    if (Object.entries(spec.selector ?? {}).every(([key, value]) => labels[key] === value)) return metadata.name
  }
  return undefined
}

interface PossibleService {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec?: { readonly clusterIP?: string; readonly selector?: Readonly<Record<string, string>> }
}

function certificateOf(namespace: string, name: string): ScenarioObject {
  return tlsSecret(namespace, name, 'server.test') as ScenarioObject
}
