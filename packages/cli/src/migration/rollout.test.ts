import { describe, expect, it } from '@jest/globals'

import { sampleWorkload } from '../../test/sample-workloads.js'
import { interruptsService, rolloutOf, unfitForRestart } from './rollout.js'
import { restartableKinds, type RestartableKind } from './workloads.js'

const observedGeneration = 2

describe('a rollout', () => {
  it.each(restartableKinds)('of a %s is complete when all its pods are new and serve', (kind) => {
    expect(rolloutOf(sampleWorkload('server', { kind }))).toEqual({ kind: 'complete' })
  })

  it.each(restartableKinds)('of a %s is under way until its controller has looked at the template', (kind) => {
    const { object } = sampleWorkload('server', { kind })
    const written = { ...object, metadata: { ...object.metadata, generation: 3 } }
    expect(rolloutOf({ kind, object: written })).toEqual({ kind: 'under-way', message: 'not looked at yet' })
  })

  it.each<[RestartableKind, object, string]>([
    ['Deployment', { replicas: 3, updatedReplicas: 1, availableReplicas: 3 }, '1 of 2 pods are new'],
    ['Deployment', { replicas: 3, updatedReplicas: 2, availableReplicas: 2 }, '1 old pods have not terminated'],
    ['Deployment', { replicas: 2, updatedReplicas: 2 }, '0 of 2 pods are available'],
    ['StatefulSet', { readyReplicas: 2, currentRevision: 'a', updateRevision: 'b' }, '0 of 2 pods are new'],
    [
      'StatefulSet',
      { readyReplicas: 1, updatedReplicas: 2, currentRevision: 'a', updateRevision: 'b' },
      '1 of 2 pods are ready',
    ],
    [
      'StatefulSet',
      { readyReplicas: 2, updatedReplicas: 2, currentRevision: 'a', updateRevision: 'b' },
      'its revision is not current yet',
    ],
    ['DaemonSet', { desiredNumberScheduled: 2, numberAvailable: 2 }, '0 of 2 pods are new'],
    [
      'DaemonSet',
      { desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 1 },
      '1 of 2 pods are available',
    ],
  ])('of a %s with status %j is under way', (kind, status, message) => {
    const workload = sampleWorkload('server', {
      kind,
      spec: { replicas: 2 },
      status: { observedGeneration, ...status },
    })
    expect(rolloutOf(workload)).toEqual({ kind: 'under-way', message })
  })

  it('of a Deployment has failed when its controller has given up', () => {
    const conditions = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }]
    const status = { observedGeneration, replicas: 2, updatedReplicas: 1, conditions }
    expect(rolloutOf(sampleWorkload('server', { status })).kind).toBe('failed')
  })

  it('of a Deployment without replicas is complete', () => {
    const workload = sampleWorkload('server', { spec: { replicas: 0 }, status: { observedGeneration } })
    expect(rolloutOf(workload)).toEqual({ kind: 'complete' })
  })
})

describe('a restart', () => {
  it('does not reach pods that wait for somebody', () => {
    const onDelete = { updateStrategy: { type: 'OnDelete' } }
    expect(unfitForRestart(sampleWorkload('a', { spec: { paused: true } }))).toContain('is paused')
    expect(unfitForRestart(sampleWorkload('a', { kind: 'DaemonSet', spec: onDelete }))).toContain('OnDelete')
    expect(unfitForRestart(sampleWorkload('a', { kind: 'StatefulSet', spec: onDelete }))).toContain('OnDelete')
    const spec = { updateStrategy: { rollingUpdate: { partition: 1 } } }
    expect(unfitForRestart(sampleWorkload('a', { kind: 'StatefulSet', spec }))).toContain('partition of 1')
    for (const kind of restartableKinds) expect(unfitForRestart(sampleWorkload('a', { kind }))).toBeUndefined()
  })

  it('interrupts what has no second pod to serve meanwhile', () => {
    expect(interruptsService(sampleWorkload('a'))).toBe(false)
    expect(interruptsService(sampleWorkload('a', { spec: { strategy: { type: 'Recreate' } } }))).toBe(true)
    expect(interruptsService(sampleWorkload('a', { kind: 'StatefulSet' }))).toBe(true)
    expect(interruptsService(sampleWorkload('a', { kind: 'StatefulSet', spec: { replicas: 2 } }))).toBe(false)
  })
})
