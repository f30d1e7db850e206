import { printable } from '@osm-ts/driver-api/toolkit'
import { type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'

import type { FatalReason } from './fatal-reason.js'

/** The API server refuses longer ones. */
const MAX_MESSAGE = 1024

/** What is said about a program that can't continue. */
export interface FatalEvent {
  readonly component: string
  readonly namespace: string
  readonly podName: string
  readonly reason: FatalReason
  readonly message: string
  /** Milliseconds since 1970. */
  readonly now: number
}

/** Leaves an event on the pod of the program, where `kubectl describe pod` shows it. */
export async function postFatalEvent(api: KubernetesApi, event: FatalEvent, signal: AbortSignal): Promise<void> {
  const { namespace, podName } = event
  // Without the uid `kubectl describe` does not find the event; without the right to read pods it is still worth posting.
  const pod = await api.get(resourceTypes.Pod, { namespace, name: podName }, signal).catch(() => undefined)
  const time = new Date(event.now).toISOString().replace(/\.\d+Z$/, 'Z')
  await api.create(
    resourceTypes.Event,
    {
      apiVersion: 'v1',
      kind: 'Event',
      // Named as kubelet names its own: by the object and a moment.
      metadata: { namespace, name: `${podName}.${event.now.toString(16)}` },
      involvedObject: {
        apiVersion: 'v1',
        kind: 'Pod',
        namespace,
        name: podName,
        ...(pod?.metadata.uid !== undefined && { uid: pod.metadata.uid }),
      },
      type: 'Warning',
      reason: event.reason,
      message: printable(event.message.slice(0, MAX_MESSAGE)),
      source: { component: event.component },
      reportingComponent: event.component,
      reportingInstance: podName,
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    },
    { signal },
  )
}
