import type { ProxyStatus } from '@osm-ts/core'
import { monitoredByLabel } from '@osm-ts/kubernetes'

import { clusterDebugApi, clusterDrivers } from '../kubernetes/cluster-debug.js'
import { theControlPlane } from '../kubernetes/control-planes.js'
import type { Cluster } from '../kubernetes/open-cluster.js'
import { existing, refused } from '../namespaces/mesh-namespaces.js'
import type { DebugApi } from '../state/debug-api.js'
import { tryPod, type Admission } from './admission.js'
import { classOfTemplate, stepOf, type MigrationFacts } from './plan-migration.js'
import { readWorkloads, workloadId, type RestartableWorkload, type SidecarPod } from './workloads.js'

/** Questions that are asked at a time. */
const atOnce = 4

/**
 * Reads what a plan is made from. Nothing is changed.
 *
 * @throws OsmError `OSM_CLI_NAMESPACE` if the namespace is not of the mesh, `OSM_CLI_UNREACHABLE` if its controllers can't be asked; KubernetesError
 */
export async function readMigrationFacts(
  cluster: Cluster,
  question: { readonly namespace: string; readonly to: string; readonly allowMissing: readonly string[] },
): Promise<MigrationFacts> {
  const { namespace, to } = question
  const { meshName: mesh } = await theControlPlane(cluster)
  const { metadata } = await existing(cluster, namespace)
  if (metadata.labels?.[monitoredByLabel] !== mesh)
    throw refused(
      `Namespace [${namespace}] does not belong to mesh [${mesh}]`,
      `add it with osm namespace add ${namespace} --mesh-name ${mesh}`,
    )
  const controllers = await clusterDrivers(cluster)
  const workloads = await readWorkloads(cluster, namespace, cluster.signal)
  const debug = await clusterDebugApi(cluster)
  const statuses = byUuid(await debug.statuses(), namespace)
  const restarted = workloads.restartable.filter((workload) => stepOf(workload, to) === 'restart')
  return {
    ...question,
    namespace: metadata,
    mesh,
    controllers,
    workloads,
    policies: await policiesOf(
      restarted.flatMap(({ pods }) => pods),
      statuses,
      debug,
    ),
    admissions: await admissionsOf(restarted, to, cluster),
  }
}

/** Statuses of a namespace by the uuids of their proxies: pods of other namespaces may carry the same. */
export function byUuid(statuses: readonly ProxyStatus[], namespace: string): ReadonlyMap<string, ProxyStatus> {
  const own = statuses.filter(({ name }) => name.startsWith(`${namespace}/`))
  return new Map(own.map((status) => [status.uuid, status]))
}

/** Calls the function with each value, a few at a time; gives the results in order. */
export async function eachOf<In, Out>(
  values: readonly In[],
  limit: number,
  call: (value: In) => Promise<Out>,
): Promise<readonly Out[]> {
  const results: Out[] = []
  const queue = values.entries()
  const work = async (): Promise<void> => {
    for (const [index, value] of queue) results[index] = await call(value)
  }
  await Promise.all(Array.from({ length: limit }, work))
  return results
}

/** Policies of those pods whose proxies the controller knows: it has yet to hear of one that has just been made. */
async function policiesOf(
  pods: readonly SidecarPod[],
  statuses: ReadonlyMap<string, ProxyStatus>,
  debug: Pick<DebugApi, 'findPolicy'>,
): Promise<MigrationFacts['policies']> {
  const known = pods.flatMap(({ uuid = '' }) => statuses.get(uuid) ?? [])
  const found = await eachOf(known, atOnce, async (status) => {
    const policy = await debug.findPolicy(status)
    return policy === undefined ? [] : [{ uuid: status.uuid, sidecarClass: status.class, policy }]
  })
  return found.flat()
}

async function admissionsOf(
  workloads: readonly RestartableWorkload[],
  to: string,
  cluster: Cluster,
): Promise<ReadonlyMap<string, Admission>> {
  // A template that names another class is an obstacle by itself.
  const own = workloads.filter((workload) => (classOfTemplate(workload) ?? to) === to)
  const answers = await eachOf(
    own,
    atOnce,
    async (workload) => [workloadId(workload), await tryPod(cluster, workload, to, cluster.signal)] as const,
  )
  return new Map(answers)
}
