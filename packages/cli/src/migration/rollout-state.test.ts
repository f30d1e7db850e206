import { describe, expect, it } from '@jest/globals'
import type { ProxyStatus } from '@osm-ts/core'

import { proxyStatus } from '../../test/sample-view.js'
import { sampleWorkload, sidecarPod } from '../../test/sample-workloads.js'
import { rolloutStateOf } from './rollout-state.js'
import type { RestartableWorkload } from './workloads.js'

const pod = sidecarPod('server-0', 'pipy')
const done = sampleWorkload('server', { pods: [pod] })
const underWay = sampleWorkload('server', {
  status: { observedGeneration: 2, replicas: 2, updatedReplicas: 1, availableReplicas: 1 },
  pods: [sidecarPod('server-old', 'envoy'), { ...pod, ready: false, summary: 'Running, not ready yet' }],
})
const applied = proxyStatus('server-0', 'shop', 'server', { class: 'pipy' })
const rejected = [{ kind: 'inbound', id: 'shop/server|80', message: 'no such thing', sources: [] }]

function ask(
  workload: RestartableWorkload,
  statuses: readonly ProxyStatus[] | undefined,
  tolerated: readonly string[] = [],
) {
  const known = statuses && new Map(statuses.map((status) => [status.uuid, status]))
  return rolloutStateOf(workload, { to: 'pipy', statuses: known, tolerated: new Set(tolerated) })
}

describe('how far a workload is', () => {
  it('is to the end when all its pods have applied what they are told', () => {
    expect(ask(done, [applied])).toEqual({ kind: 'done' })
  })

  it.each<[string, RestartableWorkload, readonly ProxyStatus[] | undefined, string]>([
    ['old pods', underWay, [], '1 old pods have not terminated; pod server-0: Running, not ready yet'],
    ['no answer of controllers', done, undefined, 'no controller answers'],
    ['a pod of the old class', sampleWorkload('server'), [], 'pod server-0 is of class envoy'],
    ['an unknown sidecar', done, [], 'no controller knows the sidecar of pod server-0'],
    ['one that is not connected', done, [{ ...applied, connected: false }], 'is connected to no controller'],
    ['one that has not answered', done, [{ ...applied, state: 'unknown' }], 'has not applied its configuration'],
    [
      'a pod that is not ready',
      sampleWorkload('server', { pods: [{ ...pod, ready: false, summary: 'Pending' }] }),
      [applied],
      'pod server-0: Pending',
    ],
  ])('waits for %s', (_what, workload, statuses, message) => {
    expect(ask(workload, statuses)).toEqual({ kind: 'waiting', message: expect.stringContaining(message) as unknown })
  })

  it('counts the pods that are behind', () => {
    const pods = ['a', 'b', 'c'].map((name) => sidecarPod(name, 'pipy'))
    expect(ask(sampleWorkload('server', { pods }), [])).toEqual({
      kind: 'waiting',
      message: 'no controller knows the sidecar of pod a, and 2 more pods',
    })
  })

  it('is a failure once a sidecar has refused something, although its pod is not ready yet', () => {
    const statuses = [{ ...applied, state: 'rejected', rejected } as const]
    const message = 'the sidecar of pod server-0 has rejected inbound shop/server|80: no such thing'
    for (const workload of [done, underWay]) expect(ask(workload, statuses)).toEqual({ kind: 'failed', message })
    expect(ask(done, [{ ...applied, denied: ['shop/server|80'] }])).toMatchObject({ kind: 'failed' })
  })

  it('does not mind refusals that were accepted beforehand', () => {
    const statuses = [{ ...applied, state: 'rejected', rejected } as const]
    expect(ask(done, statuses, ['inbound shop/server|80'])).toEqual({ kind: 'done' })
  })

  it('does not mind what sidecars of the old class refuse, which go', () => {
    const old = proxyStatus('server-old', 'shop', 'server', { state: 'rejected', rejected })
    expect(ask(underWay, [old])).toMatchObject({ kind: 'waiting' })
  })

  it('is a failure when a pod was created without a sidecar', () => {
    expect(ask(sampleWorkload('server', { pods: [sidecarPod('server-0')] }), [])).toEqual({
      kind: 'failed',
      message: 'pod server-0 was created without a sidecar',
    })
  })
})
