import { createHash, randomBytes } from 'node:crypto'
import { type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'
import { isPodReady, matches, now, podOf, type Deployment, type Pod } from './objects.js'

const templateHash = 'stand-in/template'

/**
 * Brings a Deployment one step nearer to what it asks for: pods of the present template are made, pods of another template go as soon as
 * the new ones are ready, and its status says how far that is.
 */
export async function reconcileDeployment(
  deployment: Deployment,
  pods: readonly Pod[],
  api: KubernetesApi,
  signal: AbortSignal,
): Promise<void> {
  const { metadata, spec } = deployment
  const own = pods.filter((pod) => pod.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid))
  const hash = createHash('sha256').update(JSON.stringify(spec.template)).digest('hex').slice(0, 10)
  const wanted = spec.replicas ?? 1
  const current = own.filter((pod) => pod.metadata.annotations?.[templateHash] === hash)
  const outdated = own.filter((pod) => !current.includes(pod))
  for (let count = current.length; count < wanted; count += 1)
    await api.create(resourceTypes.Pod, nextPod(deployment, hash), { signal })
  const ready = current.filter(isPodReady)
  const surplus = [...current.slice(wanted), ...(ready.length >= wanted ? outdated : [])]
  for (const { metadata: pod } of surplus)
    await api.delete(resourceTypes.Pod, { namespace: pod.namespace ?? '', name: pod.name }, { signal })
  await writeStatus(
    deployment,
    { replicas: current.length + outdated.length, updated: current.length, ready: ready.length },
    api,
    signal,
  )
}

function nextPod(deployment: Deployment, hash: string) {
  const { metadata, spec } = deployment
  const { labels = {}, annotations = {} } = spec.template.metadata ?? {}
  if (!matches(spec.selector.matchLabels, labels)) throw new Error(`${metadata.name} does not select its own pods`)
  const more = { labels, annotations: { ...annotations, [templateHash]: hash } }
  const owner = { ...deployment, apiVersion: 'apps/v1', kind: 'Deployment' }
  return podOf(owner, `${hash}-${randomBytes(3).toString('hex')}`, more)
}

async function writeStatus(
  { metadata, spec, status: before = {} }: Deployment,
  counts: { readonly replicas: number; readonly updated: number; readonly ready: number },
  api: KubernetesApi,
  signal: AbortSignal,
): Promise<void> {
  const available = counts.ready >= (spec.replicas ?? 1)
  const status = {
    observedGeneration: metadata.generation,
    replicas: counts.replicas,
    updatedReplicas: counts.updated,
    readyReplicas: counts.ready,
    availableReplicas: counts.ready,
  }
  const isSame = Object.entries(status).every(([name, value]) => (before[name] ?? 0) === value)
  if (isSame) return
  const time = now()
  const condition = (type: string, holds: boolean, reason: string): object => {
    const times = { lastUpdateTime: time, lastTransitionTime: time }
    return { type, status: holds ? 'True' : 'False', reason, message: reason, ...times }
  }
  const conditions = [
    condition('Available', available, available ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable'),
    condition('Progressing', true, available ? 'NewReplicaSetAvailable' : 'ReplicaSetUpdated'),
  ]
  const name = { namespace: metadata.namespace ?? '', name: metadata.name }
  const options = { signal, subresource: 'status' }
  await api.mergePatch(resourceTypes.Deployment, name, { status: { ...status, conditions } }, options)
}
