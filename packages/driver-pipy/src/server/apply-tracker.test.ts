import { describe, expect, it } from '@jest/globals'
import type { PartRef } from '@osm-ts/driver-api'

import { ApplyTracker } from './apply-tracker.js'

const ref = (id: string): PartRef => ({ kind: 'upstream', id, hash: `hash of ${id}` as PartRef['hash'] })
const step = (revision: number, added: readonly string[], removed: readonly string[] = []) => ({
  revision,
  added: added.map(ref),
  removed: removed.map(ref),
})

describe('what is reported of parts', () => {
  it('is that they are applied, with the step that they came with and once', () => {
    const tracker = new ApplyTracker('s')
    tracker.update(step(1, ['a', 'b']))
    tracker.update(step(2, ['c'], ['b']))
    expect(tracker.applied(1, [])).toMatchObject({
      session: 's',
      revision: 1,
      complete: true,
      parts: [{ id: 'a', state: 'applied' }],
    })
    expect(tracker.applied(1, [])).toBeUndefined()
    expect(tracker.applied(2, [])?.parts).toMatchObject([{ id: 'c', state: 'applied' }])
  })

  it('is what the words of a refusal name, and doubt about the others', () => {
    const tracker = new ApplyTracker('s')
    tracker.update(step(1, ['shop/a|80', 'shop/b|80']))
    const report = tracker.refused('served "shop/a|80": no such thing')
    expect(report).toMatchObject({
      complete: false,
      parts: [{ state: 'rejected', message: expect.stringContaining('no such') as unknown }, { state: 'unknown' }],
    })
    expect(tracker.refused('served "shop/a|80": no such thing')).toBeUndefined()
  })

  it('is all of them if the words name none, and is doubt if there are no words', () => {
    const tracker = new ApplyTracker('s')
    tracker.update(step(1, ['a-part', 'b-part']))
    expect(tracker.unacknowledged()?.parts.map(({ state }) => state)).toEqual(['unknown', 'unknown'])
    expect(tracker.unacknowledged()).toBeUndefined()
    expect(tracker.refused('out of memory')?.parts.map(({ state }) => state)).toEqual(['rejected', 'rejected'])
  })
})
