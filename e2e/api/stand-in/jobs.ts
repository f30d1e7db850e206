import { type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'
import type { Job, Pod } from './objects.js'

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
    await api.create(resourceTypes.Pod, podOf(job), { signal })
    return
  }
  const phase = pod.status?.phase
  if (phase !== 'Succeeded' && phase !== 'Failed') return
  const name = { namespace: job.metadata.namespace ?? '', name: job.metadata.name }
  const status = phase === 'Succeeded' ? completed() : failed()
  await api.mergePatch(resourceTypes.Job, name, { status }, { signal, subresource: 'status' })
}

function podOf({ metadata, spec }: Job) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      // The uid tells the pod from that of a Job of the same name that ran before.
      name: `${metadata.name}-${(metadata.uid ?? '').slice(0, 5)}`,
      namespace: metadata.namespace ?? '',
      ...spec.template.metadata,
      ownerReferences: [
        { apiVersion: 'batch/v1', kind: 'Job', name: metadata.name, uid: metadata.uid ?? '', controller: true },
      ],
    },
    spec: spec.template.spec,
  }
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

function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z')
}
