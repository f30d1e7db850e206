import { describe, expect, it } from '@jest/globals'

import { bookbuyer } from '../../test/examples.js'
import { PartBag, bagOf } from '../../test/part-bag.js'
import type { OutboundPart, PartHash } from './parts.js'
import { membersOf, readPart } from './read-parts.js'

const { proxy } = bookbuyer()
const bag = bagOf(bookbuyer())

describe('readPart', () => {
  it('gives a part of the kind that is requested', () => {
    expect(readPart(bag.get, proxy.mesh, 'mesh').kind).toBe('mesh')
  })

  it('says of which kind a part is that was expected to be another', () => {
    expect(() => readPart(bag.get, proxy.mesh, 'trust')).toThrow(
      expect.objectContaining({
        code: 'OSM_POLICY_INVALID',
        message: `part ${proxy.mesh} is of kind mesh, expected trust`,
      }),
    )
  })
})

describe('membersOf', () => {
  const [first, ...others] = membersOf(bag.get, proxy.outbound, 'outbound').map(({ part }) => part)
  /** A set of one of the parts, beside sets with the others in them. */
  const nested = (): { readonly parts: PartBag; readonly hash: PartHash } => {
    const parts = new PartBag()
    const setOf = (id: string, part: OutboundPart, sets: readonly object[] = []): PartHash =>
      parts.add({ kind: 'set', id, of: 'outbound', members: [{ id: part.id, hash: parts.add(part) }], sets } as never)
    const inner = others.map((part, index) => ({
      id: `inner-${index}`,
      hash: setOf(`inner-${index}`, part),
      ...(index === 0 && { shortNames: true }),
    }))
    return { parts, hash: setOf('outer', first!, inner) }
  }

  it('gives the members of a set in the order of their ids', () => {
    const ids = membersOf(bag.get, proxy.outbound, 'outbound').map(({ ref }) => ref.id)
    expect(ids).toEqual(['bookstore/bookstore-v1|14001', 'bookstore/bookstore-v2|14001', 'bookstore/bookstore|14001'])
  })

  it('gives those of sets inside it too, and says which are called by their short names', () => {
    const { parts, hash } = nested()
    const found = membersOf(parts.get, hash, 'outbound')
    expect(found.map(({ ref, shortNames }) => [ref.id, shortNames])).toEqual([
      ['bookstore/bookstore-v1|14001', false],
      ['bookstore/bookstore-v2|14001', true],
      ['bookstore/bookstore|14001', false],
    ])
    expect(found.map(({ part, ref }) => part.id === ref.id && ref.hash === parts.add(part))).toEqual([true, true, true])
  })

  it('gives none where there is no set, and refuses members of another kind', () => {
    expect(membersOf(bag.get, undefined, 'outbound')).toEqual([])
    expect(() => membersOf(bag.get, proxy.outbound, 'upstream')).toThrow(/is of kind outbound, expected upstream/)
  })
})
