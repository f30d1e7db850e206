import { describe, expect, it } from '@jest/globals'
import type { ApplyReport } from '@osm-ts/driver-api'
import type { PartHash, PartRef } from '@osm-ts/driver-api/policy'

import type { EncodedResource } from '../../resources/types.js'
import { ApplyTracker, type Tracer } from './apply-tracker.js'

const ref = (id: string): PartRef => ({ kind: 'upstream', id, hash: `h-${id}` as PartHash })
const made = (...ids: readonly string[]): EncodedResource => ({
  name: ids.join('+'),
  version: 'v',
  value: new Uint8Array(),
  sources: ids.map(ref),
})
/** Words that point to nothing in particular. */
const wholly: Tracer = (_, { sources }) => sources.map((part) => ({ part }))
const states = (report: ApplyReport | undefined) => report?.parts.map(({ id, state }) => `${id} ${state}`)

describe('the apply tracker', () => {
  it('says nothing before the first policy', () => {
    expect(new ApplyTracker('s', wholly).report([], true)).toBeUndefined()
  })

  it('does not say what the host takes for granted', () => {
    const tracker = new ApplyTracker('s', wholly)
    tracker.update({ revision: 1, added: [ref('a')], removed: [] })
    expect(tracker.report([{ resource: made('a') }], false)).toBeUndefined()
    expect(states(tracker.report([], true))).toEqual(['a applied'])
  })

  it('says that a refused part is not in question any more', () => {
    const tracker = new ApplyTracker('s', wholly)
    tracker.update({ revision: 1, added: [ref('a')], removed: [] })
    tracker.report([{ resource: made('a'), message: 'no good' }], false)
    tracker.update({ revision: 2, added: [ref('b')], removed: [ref('a')] })
    expect(states(tracker.report([{ resource: made('b') }], false))).toEqual(['b unknown'])
  })

  it('follows a part from unknown to applied, and says each thing once', () => {
    const tracker = new ApplyTracker('s', wholly)
    tracker.update({ revision: 7, added: [ref('a'), ref('b')], removed: [] })
    const first = tracker.report([{ resource: made('a') }], false)
    expect(first).toMatchObject({ session: 's', revision: 7, complete: false })
    expect(states(first)).toEqual(['b applied'])
    expect(tracker.report([{ resource: made('a') }], false)).toBeUndefined()
    const second = tracker.report([], true)
    expect(second).toMatchObject({ revision: 7, complete: true })
    expect(states(second)).toEqual(['a applied'])
    expect(tracker.report([], true)).toBeUndefined()
  })

  it('lets the worst of several resources decide', () => {
    const tracker = new ApplyTracker('s', wholly)
    tracker.update({ revision: 1, added: [ref('a')], removed: [] })
    const report = tracker.report([{ resource: made('a') }, { resource: made('a', 'b'), message: 'no good' }], false)
    expect(report?.parts).toEqual([{ hash: 'h-a', id: 'a', state: 'rejected', message: 'no good' }])
  })

  it('attributes a rejection to the new part and not to parts that were applied before', () => {
    const tracker = new ApplyTracker('s', wholly)
    tracker.update({ revision: 1, added: [ref('old')], removed: [] })
    tracker.report([], true)
    tracker.update({ revision: 2, added: [ref('new')], removed: [] })
    expect(states(tracker.report([{ resource: made('old', 'new'), message: 'no good' }], false))).toEqual([
      'new rejected',
    ])
  })

  it('distinguishes rejected parts from others in the same response', () => {
    const trace: Tracer = (message) => [{ part: ref(message), element: '/hosts/0' }]
    const tracker = new ApplyTracker('s', trace)
    tracker.update({ revision: 1, added: [ref('a'), ref('b')], removed: [] })
    expect(tracker.report([{ resource: made('a', 'b'), message: 'b' }], false)?.parts).toEqual([
      { hash: 'h-b', id: 'b', state: 'rejected', message: 'b', element: '/hosts/0' },
    ])
    // Words about a part that was applied long ago: then it must be one of the new ones.
    tracker.update({ revision: 2, added: [], removed: [] })
    expect(states(tracker.report([{ resource: made('a', 'b'), message: 'long ago' }], false))).toEqual(['a rejected'])
  })

  it('says when a refusal is over, and forgets parts that are gone', () => {
    const tracker = new ApplyTracker('s', wholly)
    tracker.update({ revision: 1, added: [ref('a'), ref('b')], removed: [] })
    tracker.report([{ resource: made('a', 'b'), message: 'no good' }], false)
    tracker.update({ revision: 2, added: [], removed: [ref('b')] })
    const report = tracker.report([], true)
    expect(states(report)).toEqual(['a applied'])
    expect(report?.complete).toBe(true)
  })

  it('reports each revision, even if it changes nothing', () => {
    const tracker = new ApplyTracker('s', wholly)
    tracker.update({ revision: 1, added: [], removed: [] })
    expect(tracker.report([], true)).toMatchObject({ revision: 1, complete: true, parts: [] })
    tracker.update({ revision: 2, added: [], removed: [] })
    expect(tracker.report([], true)).toMatchObject({ revision: 2, complete: true, parts: [] })
  })

  it('takes key material out of messages', () => {
    const tracker = new ApplyTracker('s', wholly)
    tracker.update({ revision: 1, added: [ref('a')], removed: [] })
    const message = '-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----'
    expect(JSON.stringify(tracker.report([{ resource: made('a'), message }], false))).not.toContain('canary')
  })

  it('does not report earlier parts as rejected if a new policy cannot be translated', () => {
    const tracker = new ApplyTracker('s', wholly)
    tracker.update({ revision: 1, added: [ref('a')], removed: [] })
    expect(states(tracker.fail({ revision: 2, added: [ref('b')], removed: [] }, 'no good'))).toEqual(['b rejected'])
  })

  it('does not call parts applied whose policy could not be translated', () => {
    const tracker = new ApplyTracker('s', wholly)
    tracker.update({ revision: 1, added: [ref('a')], removed: [] })
    tracker.report([], true)
    expect(states(tracker.fail({ revision: 2, added: [ref('b')], removed: [] }, 'no good'))).toEqual(['b rejected'])
    expect(tracker.report([], true)).toBeUndefined()
    tracker.update({ revision: 3, added: [], removed: [] })
    expect(states(tracker.report([], true))).toEqual(['b applied'])
  })
})
