import { describe, expect, it } from '@jest/globals'
import type { DriverState } from '@osm-ts/core'

import { allCapabilities } from '../../test/all-capabilities.js'
import { samplePolicy } from '../../test/sample-policy.js'
import { sampleWorkload, sidecarPod } from '../../test/sample-workloads.js'
import { classBeforeAnnotation, type MigrationFacts, planMigration } from './plan-migration.js'
import { renderPlan } from './render-migration.js'
import type { RestartableWorkload } from './workloads.js'

const classAnnotation = 'openservicemesh.io/sidecar-class'
const driver = (name: string, more: Partial<DriverState> = {}): DriverState => ({
  name,
  origin: 'built-in',
  state: 'ready',
  failurePolicy: 'Fail',
  version: '',
  capabilities: allCapabilities,
  ...more,
})
const controllers = (...drivers: readonly DriverState[]) => [{ controller: 'controller-0', drivers }]

/** Of every pod that has a sidecar. */
const policiesOf = (workloads: readonly RestartableWorkload[]): MigrationFacts['policies'] =>
  workloads
    .flatMap(({ pods }) => pods)
    .map(({ uuid = '', sidecarClass = '' }) => ({ uuid, sidecarClass, policy: samplePolicy() }))

function plan(workloads: readonly RestartableWorkload[], more: Partial<MigrationFacts> = {}) {
  return planMigration({
    namespace: { name: 'shop' },
    mesh: 'osm',
    to: 'pipy',
    controllers: controllers(driver('envoy'), driver('pipy')),
    workloads: { restartable: workloads, left: [] },
    policies: policiesOf(workloads),
    admissions: new Map(),
    allowMissing: [],
    ...more,
  })
}
const obstaclesOf = (...question: Parameters<typeof plan>) => plan(...question).obstacles.map(({ what }) => what)

describe('a plan', () => {
  it('restarts what has pods of another class, looks at what has not, and leaves the rest', () => {
    const made = plan([
      sampleWorkload('old'),
      sampleWorkload('mixed', { pods: [sidecarPod('a', 'pipy'), sidecarPod('b', 'haproxy')] }),
      sampleWorkload('new', { pods: [sidecarPod('c', 'pipy')] }),
      sampleWorkload('plain', { pods: [sidecarPod('d')] }),
      sampleWorkload('empty', { pods: [] }),
    ])
    expect(made.workloads.map(({ name, step }) => [name, step])).toEqual([
      ['old', 'restart'],
      ['mixed', 'restart'],
      ['new', 'check'],
      ['plain', 'none'],
      ['empty', 'none'],
    ])
    expect(made.workloads[1]?.pods).toEqual({ haproxy: 1, pipy: 1 })
    expect(made).toMatchObject({ from: ['envoy', 'haproxy'], obstacles: [] })
  })

  it('names pods that nothing recreates, unless they are of the class', () => {
    const left = [
      sidecarPod('alone', 'envoy'),
      { ...sidecarPod('of-job', 'envoy'), owner: 'Job/night' },
      sidecarPod('fine', 'pipy'),
    ]
    const made = plan([], { workloads: { restartable: [], left } })
    expect(made.left).toEqual([
      { pod: 'alone', sidecarClass: 'envoy', owner: null },
      { pod: 'of-job', sidecarClass: 'envoy', owner: 'Job/night' },
    ])
    expect(made).toMatchObject({ from: ['envoy'], obstacles: [] })
    expect(renderPlan(made, false)).toContain('  Pod/of-job of class envoy, of Job/night')
  })

  it.each<[string, Readonly<Record<string, string>>, string | null]>([
    ['nothing, where the namespace named no class', {}, null],
    ['the class that the namespace named', { [classAnnotation]: 'envoy' }, 'envoy'],
    [
      'what was there before one that was cut off',
      { [classAnnotation]: 'pipy', [classBeforeAnnotation]: 'envoy' },
      'envoy',
    ],
    ['nothing, where nothing was there before it', { [classAnnotation]: 'pipy', [classBeforeAnnotation]: '' }, null],
    ['the way back, if it is gone', { [classAnnotation]: 'haproxy', [classBeforeAnnotation]: 'pipy' }, 'haproxy'],
  ])('puts back %s', (_what, annotations, before) => {
    expect(plan([], { namespace: { name: 'shop', annotations } }).annotation.before).toBe(before)
  })
})

describe('what is in the way of a plan', () => {
  it('is a driver that is not there, or not ready, in any controller', () => {
    expect(obstaclesOf([], { controllers: controllers(driver('envoy')) })).toEqual([
      'controller controller-0 has no driver of class pipy',
    ])
    const reason = { code: 'OSM_DRIVER_MEMORY', message: 'too much' }
    const ill = { controller: 'controller-1', drivers: [driver('pipy', { state: 'circuit-open', reason })] }
    expect(obstaclesOf([], { controllers: [...controllers(driver('pipy')), ill] })).toEqual([
      'the driver of class pipy is circuit-open in controller controller-1: too much [OSM_DRIVER_MEMORY]',
    ])
  })

  it('is a pod template that names another class, and none that names this one', () => {
    const naming = (name: string) => sampleWorkload(name, { annotations: { [classAnnotation]: name } })
    expect(obstaclesOf([naming('envoy'), naming('PIPY')])).toEqual([
      'the pod template of Deployment/envoy selects class envoy by its annotation, which overrides that of the namespace',
    ])
  })

  it('is a workload that a restart does not reach, if it has to be restarted', () => {
    const spec = { paused: true }
    const done = sampleWorkload('done', { spec, pods: [sidecarPod('a', 'pipy')] })
    expect(obstaclesOf([sampleWorkload('waits', { spec }), done])).toEqual([
      expect.stringContaining('Deployment/waits is paused'),
    ])
  })

  it('is a pod that would be refused, and none that could not be tried', () => {
    const admissions: MigrationFacts['admissions'] = new Map([
      ['Deployment/a', { kind: 'refused', message: 'uid 1500 is taken', advice: 'see' }],
      ['Deployment/b', { kind: 'unknown' }],
      ['Deployment/c', { kind: 'admitted', sidecarClass: 'pipy' }],
    ])
    expect(
      obstaclesOf(
        ['a', 'b', 'c'].map((name) => sampleWorkload(name)),
        { admissions },
      ),
    ).toEqual(['a pod of Deployment/a would not get a sidecar of class pipy: uid 1500 is taken'])
  })

  it('is a feature that policies ask for, unless it is given up and protects nothing', () => {
    const policies = [{ uuid: 'a', sidecarClass: 'envoy', policy: samplePolicy() }]
    const less = { ...allCapabilities, modes: [] as const, protocols: ['tcp'] as const }
    const question = { policies, controllers: controllers(driver('envoy'), driver('pipy', { capabilities: less })) }
    const refused = (allowMissing: readonly string[]) => {
      const { missing, obstacles } = plan([], { ...question, allowMissing })
      return [missing.filter(({ accepted }) => !accepted).map(({ feature }) => feature), obstacles.length]
    }
    expect(refused([])).toEqual([['mode:explicit', 'protocol:http'], 2])
    expect(refused(['mode:explicit', 'protocol:http'])).toEqual([['protocol:http'], 1])
  })

  it('is a feature that any controller lacks: they may be replaced one after the other', () => {
    const policies = [{ uuid: 'a', sidecarClass: 'envoy', policy: samplePolicy() }]
    const less = { ...allCapabilities, protocols: ['tcp'] as const }
    const both = [
      ...controllers(driver('envoy'), driver('pipy')),
      { controller: 'controller-1', drivers: [driver('envoy'), driver('pipy', { capabilities: less })] },
    ]
    for (const order of [both, [...both].reverse()])
      expect(plan([], { policies, controllers: order }).missing).toMatchObject([
        { feature: 'protocol:http', accepted: false },
      ])
  })

  it('is a workload of whose policies nothing is known, until those of one of its old pods are', () => {
    const workload = sampleWorkload('fresh', { pods: [sidecarPod('a', 'envoy'), sidecarPod('b', 'envoy')] })
    const done = sampleWorkload('done', { pods: [sidecarPod('c', 'pipy')] })
    const plain = sampleWorkload('plain', { pods: [sidecarPod('d')] })
    expect(obstaclesOf([workload, done, plain], { policies: [] })).toEqual([
      'no controller has a policy for the pods of Deployment/fresh: it is unknown whether class pipy supports its policies',
    ])
    expect(obstaclesOf([workload, done, plain], { policies: policiesOf([workload]).slice(1) })).toEqual([])
  })
})
