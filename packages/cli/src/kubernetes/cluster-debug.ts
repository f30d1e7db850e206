import type { DriverState, ProxyStatus } from '@osm-ts/core'
import type { ObjectName } from '@osm-ts/kubernetes'

import type { ControllerCertificates } from '../certificates/render-certificates.js'
import { cliError } from '../errors.js'
import { debugApiBy, type DebugApi, injectorDebugApiBy } from '../state/debug-api.js'
import { healthPort, podsOfProgram, theControlPlane } from './control-planes.js'
import { getFromPod, type Cluster } from './open-cluster.js'

/** Port of the controller's debug server. */
const DEBUG_PORT = 9092

/** Drivers as one controller knows them. */
export interface ControllerDrivers {
  /** Name of its pod, or the address of its debug server. */
  readonly controller: string
  readonly drivers: readonly DriverState[]
}

/** Drivers as one injector knows them. */
export interface InjectorDrivers {
  /** Name of its pod. */
  readonly injector: string
  readonly drivers: readonly DriverState[]
}

/**
 * The debug servers of a control plane. A proxy is connected to one replica of the controller, so that all of them are asked.
 *
 * @throws OsmError `OSM_CLI_MESH_MISSING` if there is no control plane, or none of its controllers is ready
 */
export async function clusterDebugApi(cluster: Cluster): Promise<DebugApi> {
  const { namespace } = await theControlPlane(cluster)
  const pods = (await podsOfProgram(cluster, namespace, 'osm-controller')).filter(({ ready }) => ready)
  const replicas = pods.map((pod) => podDebugApi(cluster, pod))
  const [first] = replicas
  if (first === undefined) throw noController(namespace, 'is ready')
  return mergedDebugApi([first, ...replicas.slice(1)])
}

/** What several replicas say of one mesh. */
export function mergedDebugApi(replicas: readonly [DebugApi, ...DebugApi[]]): DebugApi {
  const [first] = replicas
  return {
    statuses: async () => mergeStatuses(await Promise.all(replicas.map((replica) => replica.statuses()))),
    participation: async () => {
      const { mergeParticipation } = await import('@osm-ts/core')
      return mergeParticipation(await Promise.all(replicas.map((replica) => replica.participation())))
    },
    refused: async () => (await Promise.all(replicas.map((replica) => replica.refused()))).flat(),
    // Every replica can compute the policy of every proxy, and all give the same.
    policy: (proxy) => first.policy(proxy),
    findPolicy: (proxy) => first.findPolicy(proxy),
    service: (name) => first.service(name),
    problems: () => first.problems(),
    certificates: () => first.certificates(),
    pushes: async () => {
      const changes = (await Promise.all(replicas.map((replica) => replica.pushes()))).flat()
      return changes.sort((one, other) => Date.parse(other.time) - Date.parse(one.time))
    },
    drivers: () => first.drivers(),
  }
}

/**
 * The drivers of each controller that runs, by the name of its pod. One that is not ready may be so because of a driver, and is asked like the others.
 *
 * @throws OsmError `OSM_CLI_MESH_MISSING` if there is no control plane, or none of its controllers runs
 */
export async function clusterDrivers(cluster: Cluster): Promise<readonly ControllerDrivers[]> {
  const { namespace } = await theControlPlane(cluster)
  const pods = (await podsOfProgram(cluster, namespace, 'osm-controller')).filter(
    ({ phase, isEnding }) => phase === 'Running' && !isEnding,
  )
  if (pods.length === 0) throw noController(namespace, 'runs')
  return Promise.all(
    pods.map(async (pod) => ({ controller: pod.name, drivers: await podDebugApi(cluster, pod).drivers() })),
  )
}

/**
 * The certificates of each controller that is ready, by the name of its pod: each changes its provider by itself.
 *
 * @throws OsmError `OSM_CLI_MESH_MISSING` if there is no control plane, or none of its controllers is ready
 */
export async function clusterCertificates(cluster: Cluster): Promise<readonly ControllerCertificates[]> {
  const { namespace } = await theControlPlane(cluster)
  const pods = (await podsOfProgram(cluster, namespace, 'osm-controller')).filter(({ ready }) => ready)
  if (pods.length === 0) throw noController(namespace, 'is ready')
  return Promise.all(
    pods.map(async (pod) => ({ controller: pod.name, ...(await podDebugApi(cluster, pod).certificates()) })),
  )
}

/**
 * The drivers of each injector that answers pods, by the name of its pod. None does in a mesh that is only about to start.
 *
 * @throws OsmError `OSM_CLI_MESH_MISSING` if there is no control plane
 */
export async function clusterInjectorDrivers(cluster: Cluster): Promise<readonly InjectorDrivers[]> {
  const { namespace } = await theControlPlane(cluster)
  const pods = (await podsOfProgram(cluster, namespace, 'osm-injector')).filter(({ ready }) => ready)
  return Promise.all(
    pods.map(async (pod) => {
      const place = `port ${healthPort} of Pod ${pod.namespace}/${pod.name}`
      const api = injectorDebugApiBy(place, (path) => getFromPod(cluster, pod, healthPort, path))
      return { injector: pod.name, drivers: await api.drivers() }
    }),
  )
}

function podDebugApi(cluster: Cluster, pod: ObjectName): DebugApi {
  return debugApiBy(`port ${DEBUG_PORT} of Pod ${pod.namespace}/${pod.name}`, (path) =>
    getFromPod(cluster, pod, DEBUG_PORT, path),
  )
}

/** No controller can be asked. */
export function noController(namespace: string, what: string): Error {
  return cliError(
    'OSM_CLI_MESH_MISSING',
    `no controller in namespace ${namespace} ${what}`,
    `see kubectl get pods --namespace ${namespace}`,
  )
}

/**
 * Each proxy as the replica sees it that it is connected to; without one, as the replica that has heard of it last. What is wrong with it is said by all: a
 * worker may be refused by another replica than that which has it.
 */
export function mergeStatuses(replicas: readonly (readonly ProxyStatus[])[]): readonly ProxyStatus[] {
  const merged = new Map<string, ProxyStatus>()
  for (const status of replicas.flat()) {
    const key = `${status.uuid} ${status.name}`
    const known = merged.get(key)
    const nearer = known === undefined || isNearer(status, known) ? status : known
    const farther = nearer === status ? known : status
    merged.set(key, { ...nearer, conditions: [...nearer.conditions, ...(farther?.conditions ?? [])] })
  }
  return [...merged.values()]
}

function isNearer(one: ProxyStatus, other: ProxyStatus): boolean {
  if (one.connected !== other.connected) return one.connected
  return Date.parse(one.lastReport ?? '') > (Date.parse(other.lastReport ?? '') || 0)
}
