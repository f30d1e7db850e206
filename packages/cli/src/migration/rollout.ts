import { memberOf, type RestartableWorkload } from './workloads.js'

/** How far a workload has replaced its pods. */
export type Rollout =
  { readonly kind: 'complete' } | { readonly kind: 'under-way' | 'failed'; readonly message: string }

/** How far the pods of a workload are those of its present template, as `kubectl rollout status` sees it. */
export function rolloutOf({ kind, object }: Pick<RestartableWorkload, 'kind' | 'object'>): Rollout {
  const { generation = 0 } = object.metadata
  if (countIn(object, 'status', 'observedGeneration') < generation) return underWay('not looked at yet')
  switch (kind) {
    case 'Deployment':
      return deployment(object)
    case 'StatefulSet':
      return statefulSet(object)
    case 'DaemonSet':
      return daemonSet(object)
  }
}

/** Why a change of the template would not replace the pods; undefined where it would. */
export function unfitForRestart({ kind, object }: Pick<RestartableWorkload, 'kind' | 'object'>): string | undefined {
  if (kind === 'Deployment')
    return memberOf(object, 'spec', 'paused') === true
      ? 'is paused: kubectl rollout resume lets its pods be replaced'
      : undefined
  if (memberOf(object, 'spec', 'updateStrategy', 'type') === 'OnDelete')
    return 'has updateStrategy OnDelete: its pods are replaced only when they are deleted'
  const partition = countIn(object, 'spec', 'updateStrategy', 'rollingUpdate', 'partition')
  return kind === 'StatefulSet' && partition > 0
    ? `has a partition of ${partition} in its updateStrategy: pods below it are not replaced`
    : undefined
}

/** True if none of its pods may serve while they are replaced. */
export function interruptsService({ kind, object }: Pick<RestartableWorkload, 'kind' | 'object'>): boolean {
  if (kind === 'Deployment') return memberOf(object, 'spec', 'strategy', 'type') === 'Recreate'
  return kind === 'StatefulSet' && wantedIn(object) === 1
}

function deployment(object: unknown): Rollout {
  const conditions: unknown = memberOf(object, 'status', 'conditions')
  const listed: readonly unknown[] = Array.isArray(conditions) ? conditions : []
  const stuck = listed.some(
    (condition) =>
      memberOf(condition, 'type') === 'Progressing' && memberOf(condition, 'reason') === 'ProgressDeadlineExceeded',
  )
  if (stuck) return { kind: 'failed', message: 'it has exceeded its progressDeadlineSeconds' }
  const wanted = wantedIn(object)
  const [all, updated, available] = ['replicas', 'updatedReplicas', 'availableReplicas'].map((count) =>
    countIn(object, 'status', count),
  ) as [number, number, number] // of three names
  if (updated < wanted) return underWay(`${updated} of ${wanted} pods are new`)
  if (all > updated) return underWay(`${all - updated} old pods have not terminated`)
  if (available < updated) return underWay(`${available} of ${updated} pods are available`)
  return { kind: 'complete' }
}

function statefulSet(object: unknown): Rollout {
  const wanted = wantedIn(object)
  const [updated, ready] = [countIn(object, 'status', 'updatedReplicas'), countIn(object, 'status', 'readyReplicas')]
  const isCurrent = memberOf(object, 'status', 'currentRevision') === memberOf(object, 'status', 'updateRevision')
  if (!isCurrent && updated < wanted) return underWay(`${updated} of ${wanted} pods are new`)
  if (ready < wanted) return underWay(`${ready} of ${wanted} pods are ready`)
  return isCurrent ? { kind: 'complete' } : underWay('its revision is not current yet')
}

function daemonSet(object: unknown): Rollout {
  const wanted = countIn(object, 'status', 'desiredNumberScheduled')
  const updated = countIn(object, 'status', 'updatedNumberScheduled')
  const available = countIn(object, 'status', 'numberAvailable')
  if (updated < wanted) return underWay(`${updated} of ${wanted} pods are new`)
  if (available < wanted) return underWay(`${available} of ${wanted} pods are available`)
  return { kind: 'complete' }
}

function underWay(message: string): Rollout {
  return { kind: 'under-way', message }
}

/** The API server leaves out what is zero. */
function countIn(object: unknown, ...path: readonly string[]): number {
  const count = memberOf(object, ...path)
  return typeof count === 'number' ? count : 0
}

/** Replicas that are requested: one where nothing is said. */
function wantedIn(object: unknown): number {
  const replicas = memberOf(object, 'spec', 'replicas')
  return typeof replicas === 'number' ? replicas : 1
}
