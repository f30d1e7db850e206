import type { ProxyStatus } from '@osm-ts/core'

import { rolloutOf } from './rollout.js'
import type { RestartableWorkload, SidecarPod } from './workloads.js'

/** How far a workload is on its way to a class. */
export type RolloutState = { readonly kind: 'done' } | { readonly kind: 'waiting' | 'failed'; readonly message: string }

/** What to compare with. */
export interface RolloutQuestion {
  readonly to: string
  /** Of the proxies of the namespace, by uuid; undefined while no controller can be asked. */
  readonly statuses: ReadonlyMap<string, ProxyStatus> | undefined
  /** `<kind> <id>` of parts that may be rejected, because the class is known to lack what they need. */
  readonly tolerated: ReadonlySet<string>
}

/** How far a workload is: done when its rollout is complete, and every pod has a sidecar of the class that has applied what it is told. */
export function rolloutStateOf(workload: RestartableWorkload, question: RolloutQuestion): RolloutState {
  const { to, statuses } = question
  const { pods } = workload
  const rollout = rolloutOf(workload)
  if (rollout.kind === 'failed') return { kind: 'failed', message: withPods(rollout.message, pods, to) }
  // A pod whose sidecar refuses its first configuration never becomes ready: waiting for the rollout would not tell why.
  const refusal = pods.flatMap((pod) => refusalOf(pod, question) ?? [])[0]
  if (refusal !== undefined) return { kind: 'failed', message: refusal }
  if (rollout.kind === 'under-way') return { kind: 'waiting', message: withPods(rollout.message, pods, to) }
  const without = pods.find(({ uuid }) => uuid === undefined)
  if (without !== undefined) return { kind: 'failed', message: `pod ${without.name} was created without a sidecar` }
  if (statuses === undefined) return { kind: 'waiting', message: 'no controller answers' }
  const [first, ...more] = pods.flatMap((pod) => lagOf(pod, question) ?? [])
  if (first === undefined) return { kind: 'done' }
  return { kind: 'waiting', message: more.length === 0 ? first : `${first}, and ${more.length} more pods` }
}

/** What a sidecar of the class has refused; undefined for nothing. */
function refusalOf({ name, uuid = '' }: SidecarPod, { to, statuses, tolerated }: RolloutQuestion): string | undefined {
  const status = statuses?.get(uuid)
  if (status?.class !== to) return undefined
  const rejected = status.rejected.find(({ kind, id }) => !tolerated.has(`${kind} ${id}`))
  if (rejected !== undefined)
    return `the sidecar of pod ${name} has rejected ${rejected.kind} ${rejected.id}: ${rejected.message}`
  const [denied] = status.denied
  return denied === undefined ? undefined : `the sidecar of pod ${name} denies all callers at ${denied}`
}

/** What a pod has not come to yet; undefined if it has. */
function lagOf(pod: SidecarPod, { to, statuses }: RolloutQuestion): string | undefined {
  const { name, uuid = '', sidecarClass } = pod
  if (sidecarClass !== to) return `pod ${name} is of class ${sidecarClass ?? 'none'}`
  if (!pod.ready) return `pod ${name}: ${pod.summary}`
  const status = statuses?.get(uuid)
  if (status === undefined) return `no controller knows the sidecar of pod ${name}`
  if (!status.connected) return `the sidecar of pod ${name} is connected to no controller`
  // Of one that has rejected something, all of it may be rejected: else that was told before.
  const hasAnswered = status.state === 'applied' || status.state === 'rejected'
  return hasAnswered ? undefined : `the sidecar of pod ${name} has not applied its configuration`
}

/** With how new pods get on that are not ready. */
function withPods(message: string, pods: readonly SidecarPod[], to: string): string {
  const slow = pods.filter(({ ready, sidecarClass }) => !ready && sidecarClass === to)
  return [message, ...slow.slice(0, 3).map(({ name, summary }) => `pod ${name}: ${summary}`)].join('; ')
}
