import { type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'
import { type Job, now, type Pod, podOf } from './objects.js'

/** Brings a Job one step further: makes its one pod, and notes how that ended. A pod that failed is not tried again. */
export async function reconcileJob(
  job: Job,
  pods: readonly Pod[],
  api: KubernetesApi,
  signal: AbortSignal,
): Promise<void> {
  if (job.status?.conditions?.some(({ type }) => type === 'Complete' || type === 'Failed') === true) return
  const pod = pods.find(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === job.metadata.uid))
  if (pod === undefined) {
    // The uid tells the pod from that of a Job of the same name that ran before.
    const suffix = (job.metadata.uid ?? '').slice(0, 5)
    await api.create(resourceTypes.Pod, podOf({ ...job, apiVersion: 'batch/v1', kind: 'Job' }, suffix, {}), { signal })
    return
  }
  const phase = pod.status?.phase
  if (phase !== 'Succeeded' && phase !== 'Failed') return
  const name = { namespace: job.metadata.namespace ?? '', name: job.metadata.name }
  const status = phase === 'Succeeded' ? completed() : failed()
  await api.mergePatch(resourceTypes.Job, name, { status }, { signal, subresource: 'status' })
}

/** The API server takes no final condition without the one that comes before it. */
function completed(): object {
  const times = { startTime: now(), completionTime: now() }
  return { ...times, succeeded: 1, ready: 0, conditions: [condition('SuccessCriteriaMet'), condition('Complete')] }
}

function failed(): object {
  return { startTime: now(), failed: 1, ready: 0, conditions: [condition('FailureTarget'), condition('Failed')] }
}

function condition(type: string): object {
  return { type, status: 'True', lastProbeTime: now(), lastTransitionTime: now() }
}
