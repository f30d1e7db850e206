import { isRecord } from '@osm-ts/driver-api/toolkit'
import type { KubernetesObject } from '@osm-ts/kubernetes'

import { span } from '../output/style.js'

/** How a pod gets on, in a few words: `Running, ready`, `Pending, osm-controller: ImagePullBackOff`. */
export function podSummary(pod: KubernetesObject): string {
  const reasons = containersOf(pod).flatMap(({ name, reason }) => (reason === '' ? [] : [`${name}: ${reason}`]))
  const ready = conditionOf(pod, 'Ready')?.['status'] === 'True'
  const phase = pod.metadata.deletionTimestamp === undefined ? phaseOf(pod) : 'Terminating'
  const notReady = phase === 'Running' && reasons.length === 0 ? ['not ready yet'] : reasons
  return span([phase, ...(ready ? ['ready'] : notReady)].join(', ')).text
}

/** Everything that explains why a pod does not run. */
export function podReport(pod: KubernetesObject): readonly string[] {
  const { name, namespace = '' } = pod.metadata
  const scheduled = conditionOf(pod, 'PodScheduled')
  const unscheduled = scheduled?.['status'] === 'False' ? [textOf(scheduled['message'])] : []
  return [
    `Status for pod ${name} in namespace ${namespace}:`,
    `  ${podSummary(pod)}`,
    ...unscheduled.map((message) => `  not scheduled: ${message}`),
    ...containersOf(pod).flatMap(({ name: container, state, reason, message }) =>
      reason === '' && message === ''
        ? []
        : [`  container ${container}: ${[state, reason, message].filter(Boolean).join(', ')}`],
    ),
    ...(phaseOf(pod) === 'Failed' ? [`  kubectl logs --namespace ${namespace} ${name} shows the reason`] : []),
  ].map((line) => span(line).text)
}

interface ContainerState {
  readonly name: string
  readonly state: string
  /** Empty while there is nothing to tell. */
  readonly reason: string
  readonly message: string
}

function containersOf({ status }: KubernetesObject): readonly ContainerState[] {
  if (!isRecord(status)) return []
  return [status['initContainerStatuses'], status['containerStatuses']]
    .flatMap((list): unknown[] => (Array.isArray(list) ? list : []))
    .filter(isRecord)
    .map(({ name, state }) => {
      const [[word, facts] = ['', {}]] = Object.entries(isRecord(state) ? state : {})
      const { reason, message, exitCode } = isRecord(facts) ? facts : {}
      const failed = typeof exitCode === 'number' && exitCode !== 0 ? `ended with code ${exitCode}` : ''
      // A container that has done its work has nothing to tell.
      const told = reason === 'Completed' ? '' : textOf(reason)
      return {
        name: textOf(name),
        state: word,
        reason: [told, failed].filter(Boolean).join(', '),
        message: textOf(message),
      }
    })
}

function conditionOf({ status }: KubernetesObject, type: string): Readonly<Record<string, unknown>> | undefined {
  const conditions = isRecord(status) ? status['conditions'] : undefined
  if (!Array.isArray(conditions)) return undefined
  return conditions.filter(isRecord).find((condition) => condition['type'] === type)
}

function phaseOf({ status }: KubernetesObject): string {
  const phase = isRecord(status) ? status['phase'] : undefined
  return typeof phase === 'string' ? phase : 'Unknown'
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : ''
}
