import { isRecord } from '@osm-ts/driver-api/toolkit'
import type { VersionInfo } from '@osm-ts/program'

import { healthPort, podsOfProgram } from '../kubernetes/control-planes.js'
import { getFromPod, type Cluster } from '../kubernetes/open-cluster.js'

/**
 * What a controller of the namespace answers at a path of its health server; undefined where none answers as one does.
 *
 * @throws KubernetesError if the pods cannot be listed
 */
async function askController(cluster: Cluster, namespace: string, path: string): Promise<unknown> {
  const [pod] = await podsOfProgram(cluster, namespace, 'osm-controller')
  if (pod === undefined) return undefined
  // Some may forward ports and not use the proxy, and some the other way round.
  const ways = [
    async (): Promise<unknown> => {
      const { status, body } = await getFromPod(cluster, pod, healthPort, path)
      return status === 200 ? (JSON.parse(body) as unknown) : undefined
    },
    () =>
      cluster.api.read(
        `/api/v1/namespaces/${pod.namespace}/pods/${pod.name}:${healthPort}/proxy${path}`,
        cluster.signal,
      ),
  ]
  for (const ask of ways) {
    // Whatever keeps a controller from answering, the list of meshes is worth having without.
    const answer = await ask().catch(() => undefined)
    cluster.signal.throwIfAborted()
    if (answer !== undefined) return answer
  }
  return undefined
}

/** The version of a control plane as it says itself; undefined where it does not answer. */
export async function versionOf(cluster: Cluster, namespace: string): Promise<VersionInfo | undefined> {
  const answer = await askController(cluster, namespace, '/version')
  if (!isRecord(answer)) return undefined
  const text = (name: string): string => (typeof answer[name] === 'string' ? answer[name] : '')
  return text('version') === ''
    ? undefined
    : { version: text('version'), git_commit: text('git_commit'), build_date: text('build_date') }
}

/** Kinds of SMI and the versions of them that a control plane reads, as `TrafficSplit:v1alpha4`; undefined where it does not answer. */
export async function smiVersionsOf(cluster: Cluster, namespace: string): Promise<readonly string[] | undefined> {
  const answer = await askController(cluster, namespace, '/smi/version')
  if (!isRecord(answer)) return undefined
  return Object.entries(answer)
    .map(([kind, version]) => `${kind}:${String(version).replace(/^[^/]*\//, '')}`)
    .sort()
}
