import { describe, expect, it } from '@jest/globals'

import { podManifest, sidecarContainer, uuid } from '../../test/cluster-fixture.js'
import { Deduplicator } from './deduplicator.js'
import { PodReader, samePod } from './pod.js'
import { ProbeBindingsReader } from './probe-annotation.js'

const reader = new PodReader(new Deduplicator(), new ProbeBindingsReader())

type State = Readonly<Record<string, unknown>>
const running: State = { running: { startedAt: '2026-01-01T00:00:00Z' } }
const ended = (exitCode: number): State => ({ terminated: { exitCode } })
const waiting: State = { waiting: { reason: 'CrashLoopBackOff' } }

interface PodOfJob {
  readonly restartPolicy?: string
  readonly containers?: readonly Readonly<Record<string, unknown>>[]
  readonly native?: boolean
  /** Name of the container of the sidecar. */
  readonly sidecar?: string
  readonly states: Readonly<Record<string, State>>
}

/** What is read of a pod whose containers are in these states; its sidecar runs. */
function read(pod: PodOfJob) {
  const { restartPolicy = 'Never', containers = [{ name: 'app' }], native = false, sidecar = 'sidecar', states } = pod
  return reader.read(
    podManifest('shop', 'once', {
      uuid: uuid(1),
      ready: false,
      spec: {
        restartPolicy,
        containers: native ? containers : [...containers, { ...sidecarContainer, name: sidecar }],
        ...(native ? { initContainers: [{ ...sidecarContainer, name: sidecar, restartPolicy: 'Always' }] } : {}),
      },
      status: {
        containerStatuses: Object.entries({ ...states, [sidecar]: running }).map(([name, state]) => ({ name, state })),
      },
    }),
  )
}

const hasEnded = (pod: PodOfJob): boolean => read(pod)?.instance?.spec.ended === true
const two = [{ name: 'app' }, { name: 'exporter' }]

describe('a pod waits for its classic sidecar', () => {
  it.each<[string, PodOfJob]>([
    ['all others have ended, and none is ever started again', { states: { app: ended(0) } }],
    ['whatever they ended with', { states: { app: ended(137) } }],
    ['they succeeded, and only failures are tried again', { restartPolicy: 'OnFailure', states: { app: ended(0) } }],
    [
      'what has ended is called sidecar, and that of the mesh runs',
      { containers: [{ name: 'sidecar' }], sidecar: 'osm-sidecar', states: { sidecar: ended(0) } },
    ],
    ['each of several has ended', { containers: two, states: { app: ended(0), exporter: ended(1) } }],
    [
      'a container with a policy of its own is not started again',
      { restartPolicy: 'Always', containers: [{ name: 'app', restartPolicy: 'Never' }], states: { app: ended(3) } },
    ],
    [
      'no exception holds for its exit code',
      {
        containers: [{ name: 'app', restartPolicyRules: [{ exitCodes: { operator: 'In', values: [42] } }] }],
        states: { app: ended(1) },
      },
    ],
  ])('when %s', (_, pod) => {
    expect(hasEnded(pod)).toBe(true)
  })

  it.each<[string, PodOfJob]>([
    ['something runs', { states: { app: running } }],
    ['one of several runs', { containers: two, states: { app: ended(0), exporter: running } }],
    ['nothing is known yet', { states: {} }],
    [
      'a container runs that is called sidecar and is not that of the mesh',
      {
        containers: [{ name: 'app' }, { name: 'sidecar' }],
        sidecar: 'osm-sidecar',
        states: { app: ended(0), sidecar: running },
      },
    ],
    ['one of several is not known yet', { containers: two, states: { app: ended(0) } }],
    ['what failed is tried again', { restartPolicy: 'OnFailure', states: { app: ended(1) } }],
    ['it is about to be tried again', { restartPolicy: 'OnFailure', states: { app: waiting } }],
    ['everything is always started again', { restartPolicy: 'Always', states: { app: ended(0) } }],
    ['the kubelet ends its sidecar, a native one', { native: true, states: { app: ended(0) } }],
    [
      'a container with a policy of its own is started again',
      { containers: [{ name: 'app', restartPolicy: 'OnFailure' }], states: { app: ended(1) } },
    ],
    [
      'an exception has it started again',
      {
        containers: [{ name: 'app', restartPolicyRules: [{ exitCodes: { operator: 'In', values: [42] } }] }],
        states: { app: ended(42) },
      },
    ],
    [
      'an exception for all other exit codes does',
      {
        containers: [{ name: 'app', restartPolicyRules: [{ exitCodes: { operator: 'NotIn', values: [0] } }] }],
        states: { app: ended(42) },
      },
    ],
    [
      'there is an exception that is not understood',
      { containers: [{ name: 'app', restartPolicyRules: [{ signals: ['SIGTERM'] }] }], states: { app: ended(0) } },
    ],
  ])('and not when %s', (_, pod) => {
    expect(hasEnded(pod)).toBe(false)
  })

  it('which is a change, where other news of containers are none', () => {
    const running1 = read({ states: { app: running } })
    const running2 = read({ states: { app: waiting } })
    const done = read({ states: { app: ended(0) } })
    if (running1 === undefined || running2 === undefined || done === undefined) throw new Error('pods are read')
    expect(samePod(running1, running2)).toBe(true)
    expect(samePod(running1, done)).toBe(false)
  })
})
