import { describe, expect, it } from '@jest/globals'

import type { PartRef } from '../policy/policy.js'
import { DocumentTracker } from './document-tracker.js'

const ref = (id: string): PartRef => ({ kind: 'upstream', id, hash: `hash of ${id}` as PartRef['hash'] })
const step = (revision: number, added: readonly string[], removed: readonly string[] = []) => ({
  revision,
  added: added.map(ref),
  removed: removed.map(ref),
})

describe('what is reported of parts', () => {
  it('is that they are applied, with the step that they came with and once', () => {
    const tracker = new DocumentTracker('s')
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

  it('is what has become of a part that was left out, and of one that is left out later, with the same step', () => {
    const tracker = new DocumentTracker('s')
    tracker.update(step(1, ['a', 'b']))
    const without = (id: string, message: string) => ({ ref: ref(id), pointer: '/tls', message })
    expect(tracker.applied(1, [without('a', 'not there')])).toMatchObject({
      complete: false,
      parts: [
        { id: 'a', state: 'rejected', element: '/tls', message: 'not there' },
        { id: 'b', state: 'applied' },
      ],
    })
    expect(tracker.applied(1, [without('a', 'not there')])).toBeUndefined()
    expect(tracker.applied(1, [])).toMatchObject({ complete: true, parts: [{ id: 'a', state: 'applied' }] })
    expect(tracker.applied(1, [])).toBeUndefined()
    expect(tracker.applied(1, [without('b', 'unusable')])).toMatchObject({
      complete: false,
      parts: [{ id: 'b', state: 'rejected', message: 'unusable' }],
    })
    tracker.update(step(2, [], ['b']))
    expect(tracker.applied(2, [])).toMatchObject({ complete: true, parts: [] })
  })

  it('is what the words of a refusal name, and doubt about the others', () => {
    const tracker = new DocumentTracker('s')
    tracker.update(step(1, ['shop/a|80', 'shop/b|80']))
    const report = tracker.refused('served "shop/a|80": no such thing')
    expect(report).toMatchObject({
      complete: false,
      parts: [{ state: 'rejected', message: expect.stringContaining('no such') as unknown }, { state: 'unknown' }],
    })
    expect(tracker.refused('served "shop/a|80": no such thing')).toBeUndefined()
  })

  it('is all of them if the words name none, and is doubt if there are no words', () => {
    const tracker = new DocumentTracker('s')
    tracker.update(step(1, ['a-part', 'b-part']))
    expect(tracker.unacknowledged()?.parts.map(({ state }) => state)).toEqual(['unknown', 'unknown'])
    expect(tracker.unacknowledged()).toBeUndefined()
    expect(tracker.refused('out of memory')?.parts.map(({ state }) => state)).toEqual(['rejected', 'rejected'])
  })

  it('leaves alone what came after the document that was refused', () => {
    const tracker = new DocumentTracker('s')
    tracker.update(step(1, ['a-part']))
    tracker.update(step(2, ['b-part']))
    expect(tracker.refused('no', 1)).toMatchObject({ revision: 1, parts: [{ id: 'a-part', state: 'rejected' }] })
    expect(tracker.applied(2, [])?.parts).toMatchObject([{ state: 'applied' }, { id: 'b-part', state: 'applied' }])
  })

  it('is that a step is not in force, even if it brought no part', () => {
    const tracker = new DocumentTracker('s')
    tracker.update(step(1, []))
    expect(tracker.applied(1, [])).toMatchObject({ complete: true })
    tracker.update(step(2, []))
    expect(tracker.refused('no')).toEqual({ session: 's', revision: 2, complete: false, parts: [] })
    expect(tracker.refused('no')).toBeUndefined()
    // The certificate of a document that is in force with another one.
    expect(tracker.applied(2, [])).toMatchObject({ revision: 2, complete: true })
    expect(tracker.refused('no')).toBeUndefined()
  })

  it('is what the document leaves out, with the element and without keys', () => {
    const tracker = new DocumentTracker('s')
    tracker.update(step(1, ['a-part']))
    const key = '-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----'
    const refusal = { ref: ref('a-part'), pointer: '/rules', message: `cannot do ${key}` }
    expect(tracker.applied(1, [refusal])).toMatchObject({
      complete: false,
      parts: [{ state: 'rejected', element: '/rules', message: 'cannot do [redacted]' }],
    })
  })

  it('is what a proxy cannot do after all, until it can, with every step', () => {
    const tracker = new DocumentTracker('s')
    const refusal = { ref: ref('a-part'), pointer: '/value', message: 'no' }
    tracker.update(step(1, ['a-part', 'b-part']))
    expect(tracker.applied(1, [])).toMatchObject({ complete: true })
    expect(tracker.failed([refusal])).toMatchObject({
      revision: 1,
      complete: false,
      parts: [{ id: 'a-part', state: 'rejected', element: '/value' }],
    })
    expect(tracker.failed([refusal])).toBeUndefined()
    tracker.update(step(2, ['c-part']))
    expect(tracker.applied(2, [])).toMatchObject({ complete: false, parts: [{ id: 'c-part', state: 'applied' }] })
    expect(tracker.failed([])).toBeUndefined()
    expect(tracker.applied(2, [])).toMatchObject({ complete: true, parts: [{ id: 'a-part', state: 'applied' }] })
    tracker.failed([refusal])
    tracker.update(step(3, [], ['a-part']))
    expect(tracker.applied(3, [])).toMatchObject({ complete: true, parts: [] })
  })
})
