import { beforeEach, describe, expect, it } from '@jest/globals'
import type { KindMap } from '@osm-ts/core'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { silent } from '../../test/controller-fixture.js'
import { mayIssue, readRootRecord } from '../certificates/root-record.js'
import type { RotationFault } from '../certificates/rotation-view.js'
import type { ReplicaTrust } from '../replicas/replica-trust.js'
import { RootRotation, type RootStatus } from './root-rotation.js'

type Role = 'active' | 'passive' | 'inactive'
type Root = KindMap['MeshRootCertificate']

interface Stored {
  role: Role
  generation: number
  trustDomain: string
  status: RootStatus | undefined
}

const OLD = 'AA'
const NEXT = 'BB'
const settled: ReplicaTrust = { signs: OLD, confirmed: [OLD, NEXT], former: 0 }
/** What a replica says while the next provider is to sign, and all of its sidecars have confirmed. */
const ready: ReplicaTrust = { ...settled, next: NEXT, sidecars: { connected: 2, missing: 0, first: [] } }

describe('RootRotation', () => {
  let stored: Map<string, Stored>
  let own: ReplicaTrust
  let others: Map<string, ReplicaTrust | undefined>
  let pods: readonly string[]
  let podLists: number
  let fault: RotationFault | undefined
  let now: number

  beforeEach(() => {
    stored = new Map([
      ['old', { role: 'active', generation: 1, trustDomain: 'mesh', status: undefined }],
      ['next', { role: 'passive', generation: 1, trustDomain: 'mesh', status: undefined }],
    ])
    own = settled
    others = new Map([['two', settled]])
    pods = ['one', 'two']
    podLists = 0
    fault = undefined
    now = Date.parse('2026-11-27T00:00:00Z')
  })

  const stateOf = (name: string): string | undefined => stored.get(name)?.status?.state
  const condition = (name: string, type: string) => stored.get(name)?.status?.conditions.find((it) => it.type === type)
  const states = (): readonly (string | undefined)[] => ['old', 'next'].map(stateOf)

  function choose(roles: Readonly<Record<string, Role>>): void {
    for (const [name, role] of Object.entries(roles)) {
      const object = stored.get(name)
      if (object === undefined || object.role === role) continue
      object.role = role
      object.generation += 1
    }
  }

  /** True where a replica that reads the status would let the provider sign. */
  const letsSign = (name: string): boolean => {
    const object = stored.get(name)
    return mayIssue(object && readRootRecord(object.generation, object.status))
  }

  /** A leader of its own, with nothing but what is written down, for as long as it takes to look ten times. */
  async function lead(): Promise<void> {
    const closing = new AbortController()
    let looks = 0
    const rotation = new RootRotation({
      pod: 'one',
      trustDomain: 'mesh',
      rotation: {
        roots: () => new Map([['old', OLD], ...(fault === undefined ? [['next', NEXT] as const] : [])]),
        get fault() {
          return fault
        },
        get isPending() {
          return fault !== undefined
        },
      },
      objects: () =>
        [...stored].map(
          ([name, { role, trustDomain }]) => ({ metadata: { name }, spec: { role, trustDomain } }) as unknown as Root, // what is read of it
        ),
      served: (name) => {
        const object = stored.get(name)
        return object && { record: readRootRecord(object.generation, object.status), status: object.status }
      },
      own: () => own,
      others: () => others,
      pods: async () => {
        podLists += 1
        return pods
      },
      write: async (name, status) => {
        const object = stored.get(name)
        if (object !== undefined) object.status = status
      },
      // Each look comes after everything that is waited for.
      clock: {
        now: () => (now += 10_000),
        setTimer: (callback) => {
          looks += 1
          const timer = setImmediate(callback)
          return () => clearImmediate(timer)
        },
      },
      logger: silent(),
    })
    const running = rotation.run(closing.signal)
    await eventually(
      () => looks,
      (count) => count >= 4,
    )
    closing.abort()
    await running
  }

  it('takes the first signer as it is, and tells that a passive root is trusted', async () => {
    await lead()
    expect(states()).toEqual(['active', 'passive'])
    expect(letsSign('old')).toBe(true)
    expect(condition('next', 'Trusted')).toMatchObject({ status: 'True', observedGeneration: 1 })
    expect(condition('next', 'Issuing')).toMatchObject({ status: 'False', reason: 'Passive' })
  })

  it('lets the next one sign once sidecars of every replica have confirmed, and ends when no former certificate is left', async () => {
    await lead()
    choose({ old: 'passive', next: 'active' })
    own = ready
    await lead()
    expect([letsSign('next'), condition('next', 'Issuing')?.message]).toEqual([
      false,
      'replica two has not taken up the change yet',
    ])
    expect(states()).toEqual(['active', 'validatingRollout'])
    others.set('two', ready)
    await lead()
    expect(letsSign('next')).toBe(true)
    expect(states()).toEqual(['issuingRollback', 'issuingRollout'])
    own = { ...settled, signs: NEXT, former: 4 }
    others.set('two', { ...settled, signs: NEXT })
    await lead()
    expect(states()).toEqual(['issuingRollback', 'issuingRollout'])
    expect(condition('next', 'Issuing')?.message).toBe('signs; 4 certificates of former roots are in force')
    own = { ...settled, signs: NEXT }
    await lead()
    expect(states()).toEqual(['passive', 'active'])
  })

  it('waits for a sidecar of another replica that refuses its configuration, and names it', async () => {
    await lead()
    choose({ old: 'passive', next: 'active' })
    own = ready
    others.set('two', { ...ready, sidecars: { connected: 2, missing: 1, first: ['shop/store-v1'] } })
    await lead()
    expect(letsSign('next')).toBe(false)
    expect(condition('next', 'Issuing')?.message).toBe(
      'replica two: 1 of 2 sidecars have not confirmed their configuration, such as shop/store-v1',
    )
  })

  it('waits for a silent replica whose pod serves, and not for one whose pod is gone', async () => {
    await lead()
    choose({ old: 'passive', next: 'active' })
    own = ready
    others = new Map()
    await lead()
    expect(letsSign('next')).toBe(false)
    expect(condition('next', 'Issuing')?.message).toBe('replica two does not report what its sidecars trust')
    pods = ['one']
    await lead()
    expect(letsSign('next')).toBe(true)
  })

  it('asks for the pods of replicas only while something is left to decide', async () => {
    await lead()
    expect(podLists).toBeGreaterThan(0)
    podLists = 0
    await lead()
    expect([podLists, ...states()]).toEqual([0, 'active', 'passive'])
    choose({ old: 'passive', next: 'active' })
    await lead()
    expect(podLists).toBeGreaterThan(0)
  })

  it('waits for a replica of an earlier version, which reports nothing about roots', async () => {
    await lead()
    choose({ old: 'passive', next: 'active' })
    own = ready
    others = new Map([['two', undefined]])
    await lead()
    expect(letsSign('next')).toBe(false)
  })

  it('goes on where the leader before has stopped: what has signed signs, and nothing starts over', async () => {
    await lead()
    choose({ old: 'passive', next: 'active' })
    own = ready
    others.set('two', ready)
    await lead()
    expect(letsSign('next')).toBe(true)
    // A new leader that has heard of no one yet.
    others = new Map()
    await lead()
    expect(letsSign('next')).toBe(true)
    expect(states()).toEqual(['issuingRollback', 'issuingRollout'])
  })

  it('stops at a provider that cannot be used, and can be gone back from at once', async () => {
    await lead()
    choose({ old: 'passive', next: 'active' })
    fault = { code: 'OSM_CERT_PROVIDER_SETTINGS', message: 'Secret osm-system/vault is missing' }
    await lead()
    expect(states()).toEqual(['active', 'error'])
    expect(condition('next', 'Issuing')).toMatchObject({ status: 'False', reason: fault.code, message: fault.message })
    expect(condition('old', 'Issuing')).toMatchObject({ status: 'True' })
    fault = undefined
    choose({ old: 'active', next: 'passive' })
    await lead()
    expect(letsSign('old')).toBe(true)
    expect(states()).toEqual(['active', 'passive'])
  })

  it('goes back to a root that all still trust', async () => {
    await lead()
    choose({ old: 'passive', next: 'active' })
    own = ready
    others.set('two', ready)
    await lead()
    own = { ...settled, signs: NEXT, next: OLD }
    others.set('two', { ...settled, signs: NEXT, next: OLD })
    choose({ old: 'active', next: 'passive' })
    await lead()
    expect([letsSign('old'), ...states()]).toEqual([true, 'issuingRollout', 'issuingRollback'])
  })

  it('decides again for a provider that was changed in place', async () => {
    await lead()
    const object = stored.get('old')
    if (object !== undefined) object.generation += 1
    own = { ...settled, signs: 'CC', next: OLD, confirmed: ['CC'] }
    await lead()
    expect(letsSign('old')).toBe(false)
    expect(condition('old', 'Issuing')).toMatchObject({ status: 'True', observedGeneration: 1 })
    own = { ...own, confirmed: ['CC', OLD] }
    others.set('two', own)
    await lead()
    expect(letsSign('old')).toBe(true)
  })

  it('never lets a provider of another trust domain sign, and tells the right one', async () => {
    await lead()
    const object = stored.get('next')
    if (object !== undefined) object.trustDomain = 'other.example'
    choose({ old: 'passive', next: 'active' })
    own = ready
    others.set('two', ready)
    await lead()
    expect([letsSign('next'), ...states()]).toEqual([false, 'active', 'error'])
    expect(condition('next', 'Issuing')).toMatchObject({
      reason: 'OSM_SPEC_TRUST_DOMAIN',
      message: 'spec.trustDomain: must be mesh, that of the mesh, got "other.example"',
    })
  })

  it('keeps the signer while two are active', async () => {
    await lead()
    choose({ next: 'active' })
    fault = { code: 'OSM_CERT_PROVIDER_SETTINGS', message: 'one signs' }
    await lead()
    expect([letsSign('next'), condition('old', 'Issuing')?.status]).toEqual([false, 'True'])
  })
})
