import { describe, expect, it } from '@jest/globals'
import type { KubernetesObject } from '@osm-ts/kubernetes'

import { podReport, podSummary } from './pod-report.js'

function pod(status: object, more: object = {}): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'osm-controller-1', namespace: 'osm-system', ...more },
    status,
  }
}

const waiting = pod({
  phase: 'Pending',
  conditions: [{ type: 'Ready', status: 'False' }],
  initContainerStatuses: [{ name: 'init', state: { terminated: { reason: 'Completed', exitCode: 0 } } }],
  containerStatuses: [
    { name: 'osm-controller', state: { waiting: { reason: 'ImagePullBackOff', message: 'no such\timage' } } },
    { name: 'other', state: { running: { startedAt: 'now' } } },
  ],
})

describe('what is reported about a pod', () => {
  it.each([
    ['Running, ready', pod({ phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] })],
    ['Running, not ready yet', pod({ phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] })],
    ['Pending, osm-controller: ImagePullBackOff', waiting],
    ['Terminating', pod({ phase: 'Running' }, { deletionTimestamp: 'now' })],
    ['Unknown', pod({})],
    [
      'Running, c: Error, ended with code 3',
      pod({
        phase: 'Running',
        containerStatuses: [{ name: 'c', state: { terminated: { reason: 'Error', exitCode: 3 } } }],
      }),
    ],
  ])('is %j', (expected, given) => {
    expect(podSummary(given)).toBe(expected)
  })

  it('has everything that says why it does not run', () => {
    expect(podReport(waiting)).toEqual([
      'Status for pod osm-controller-1 in namespace osm-system:',
      '  Pending, osm-controller: ImagePullBackOff',
      '  container osm-controller: waiting, ImagePullBackOff, no such·image',
    ])
    const unscheduled = { type: 'PodScheduled', status: 'False', message: '0/3 nodes are available' }
    expect(podReport(pod({ phase: 'Pending', conditions: [unscheduled] }))).toContain(
      '  not scheduled: 0/3 nodes are available',
    )
    expect(podReport(pod({ phase: 'Failed' }))).toContain(
      '  kubectl logs --namespace osm-system osm-controller-1 shows the reason',
    )
  })
})
