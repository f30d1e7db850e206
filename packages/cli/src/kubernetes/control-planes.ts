import { isRecord } from '@osm-ts/driver-api/toolkit'
import type { KubernetesObject, ObjectName } from '@osm-ts/kubernetes'

import { cliError } from '../errors.js'
import type { Cluster } from './open-cluster.js'

/** Programs of a control plane: names of their Deployments, and values of the label `app` of these and their pods. */
export const controlPlanePrograms = ['osm-controller', 'osm-injector', 'osm-bootstrap'] as const

/** Port of each of them for health, version and metrics. */
export const healthPort = 9091

/** A name of {@link controlPlanePrograms}. */
export type ControlPlaneProgram = (typeof controlPlanePrograms)[number]

/** A control plane, by the Deployment of its controller. */
export interface ControlPlane {
  readonly meshName: string
  readonly namespace: string
  /** Empty where nothing says. */
  readonly version: string
  /** Flags of the controller, with their values. */
  readonly flags: Readonly<Record<string, string>>
  /** Name of the helm release that it is of. */
  readonly release: string
}

/** A pod, as far as commands look at it. */
export interface PodState extends ObjectName {
  readonly phase: string
  readonly ready: boolean
  /** It was told to end, whatever its phase says. */
  readonly isEnding: boolean
  /** Absent before it has one. */
  readonly address?: string
}

/** All control planes of the cluster, or those of a namespace, sorted by mesh. */
export async function findControlPlanes(
  { api, signal }: Pick<Cluster, 'api' | 'signal'>,
  namespace?: string,
): Promise<readonly ControlPlane[]> {
  const { listAll, resourceTypes } = await import('@osm-ts/kubernetes')
  const query = { labelSelector: 'app=osm-controller', ...(namespace !== undefined && { namespace }) }
  const found = (await listAll(api, resourceTypes.Deployment, query, signal)).map(controlPlaneOf)
  return [...found].sort((a, b) => (`${a.meshName}/${a.namespace}` < `${b.meshName}/${b.namespace}` ? -1 : 1))
}

/**
 * The control plane in the namespace that the options name.
 *
 * @throws OsmError `OSM_CLI_MESH_MISSING`
 */
export async function theControlPlane(cluster: Cluster): Promise<ControlPlane> {
  const [first] = await findControlPlanes(cluster, cluster.osmNamespace)
  if (first !== undefined) return first
  const elsewhere = (await findControlPlanes(cluster)).map(({ namespace }) => namespace)
  throw cliError(
    'OSM_CLI_MESH_MISSING',
    `there is no control plane in namespace ${cluster.osmNamespace}`,
    elsewhere.length === 0
      ? 'install one with osm install'
      : `select one with --osm-namespace: ${elsewhere.join(', ')}`,
  )
}

/** Pods of a program of a control plane, those that are ready first. */
export async function podsOfProgram(
  { api, signal }: Pick<Cluster, 'api' | 'signal'>,
  namespace: string,
  program: ControlPlaneProgram,
): Promise<readonly PodState[]> {
  const { listAll, resourceTypes } = await import('@osm-ts/kubernetes')
  const pods = await listAll(api, resourceTypes.Pod, { namespace, labelSelector: `app=${program}` }, signal)
  const states = pods.map(podState)
  return [...states.filter(({ ready }) => ready), ...states.filter(({ ready }) => !ready)]
}

/** What a pod says of itself. */
export function podState({ metadata, status }: KubernetesObject): PodState {
  const { phase, conditions, podIP } = isRecord(status) ? status : {}
  const isEnding = metadata.deletionTimestamp !== undefined
  const isReady = (condition: unknown): boolean =>
    isRecord(condition) && condition['type'] === 'Ready' && condition['status'] === 'True'
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    phase: typeof phase === 'string' ? phase : 'Unknown',
    ready: Array.isArray(conditions) && conditions.some(isReady) && !isEnding,
    isEnding,
    ...(typeof podIP === 'string' && podIP !== '' && { address: podIP }),
  }
}

function controlPlaneOf({ metadata, spec }: KubernetesObject): ControlPlane {
  const { labels = {}, annotations = {}, namespace = '' } = metadata
  const meshName = labels['meshName'] ?? labels['app.kubernetes.io/instance'] ?? ''
  return {
    meshName,
    namespace,
    release: annotations['meta.helm.sh/release-name'] ?? meshName,
    version: labels['app.kubernetes.io/version'] ?? '',
    flags: Object.fromEntries(argumentsOf(spec).flatMap(flagOf)),
  }
}

/** Arguments of the containers of a Deployment; what is not a Deployment has none. */
function argumentsOf(spec: unknown): readonly string[] {
  const template = isRecord(spec) ? spec['template'] : undefined
  const pod = isRecord(template) ? template['spec'] : undefined
  const containers = isRecord(pod) && Array.isArray(pod['containers']) ? pod['containers'] : []
  return containers.flatMap((container: unknown) => {
    const given = isRecord(container) && Array.isArray(container['args']) ? container['args'] : []
    return given.filter((argument: unknown) => typeof argument === 'string')
  })
}

function flagOf(argument: string): readonly (readonly [name: string, value: string])[] {
  const { name, value } = /^--(?<name>[a-z-]+)=(?<value>.*)$/s.exec(argument)?.groups ?? {}
  return name === undefined || value === undefined ? [] : [[name, value]]
}
