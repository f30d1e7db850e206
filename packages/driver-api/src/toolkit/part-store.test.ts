import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { OsmError } from '../errors.js'
import { hashPart } from '../policy/canonical.js'
import type { Part, PartHash, SetPart } from '../policy/parts.js'
import { partRefs } from '../policy/references.js'
import { PartStore } from './part-store.js'

const leaf = (id: string): Part =>
  ({ kind: 'dns', id, ttlSeconds: 1, records: [], upstreamServers: [] }) as unknown as Part
const set = (id: string, members: readonly Part[], sets: readonly Part[] = []): SetPart => ({
  kind: 'set',
  id,
  of: 'endpoints',
  members: members.map((part) => ({ id: part.id, hash: hashPart(part) })),
  sets: sets.map((part) => ({ id: part.id, hash: hashPart(part) })),
})

function world(...parts: readonly Part[]) {
  const byHash = new Map(parts.map((part) => [hashPart(part), part]))
  const fetched: string[] = []
  const store = new PartStore({
    get: async (hash) => {
      const part = byHash.get(hash)
      if (part === undefined) throw new OsmError('OSM_PART_UNKNOWN', `no part ${hash}`)
      fetched.push(part.id)
      return part
    },
  })
  return { store, fetched }
}

const [a, b, c] = [leaf('a'), leaf('b'), leaf('c')]
const inner = set('inner', [a, b])
const outer = set('outer', [c], [inner])

describe('the part store', () => {
  it('holds what a part refers to, down to the last', async () => {
    const { store } = world(a, b, c, inner, outer)
    await store.retain([hashPart(outer)])
    expect(store.get(hashPart(a))).toBe(a)
    expect(store.size).toBe(5)
    store.release([hashPart(outer)])
    expect(store.size).toBe(0)
    expect(() => store.get(hashPart(a))).toThrow(TypeError)
  })

  it('fetches what many refer to once, also at the same moment', async () => {
    const { store, fetched } = world(a, b, c, inner, outer)
    await Promise.all([
      store.retain([hashPart(inner)]),
      store.retain([hashPart(outer)]),
      store.retain([hashPart(inner)]),
    ])
    expect([...fetched].sort()).toEqual(['a', 'b', 'c', 'inner', 'outer'])
    store.release([hashPart(outer)])
    expect(store.find(hashPart(b))).toBe(b)
    expect(store.find(hashPart(c))).toBeUndefined()
  })

  it('holds nothing of what cannot be had whole', async () => {
    const { store } = world(a, c, inner, outer)
    await expect(store.retain([hashPart(outer), hashPart(c)])).rejects.toMatchObject({ code: 'OSM_PART_UNKNOWN' })
    expect(store.size).toBe(0)
  })

  it('asks again for what could not be had', async () => {
    let present = false
    const store = new PartStore({
      get: async () => (present ? a : Promise.reject(new OsmError('OSM_PART_UNKNOWN', 'not yet'))),
    })
    await expect(store.retain([hashPart(a)])).rejects.toThrow('not yet')
    present = true
    await store.retain([hashPart(a)])
    expect(store.get(hashPart(a))).toBe(a)
  })

  it('holds what is held, and nothing else, in any order of calls', async () => {
    const parts = [a, b, c, inner, outer]
    const hashes = parts.map(hashPart)
    const closure = (hash: PartHash): readonly PartHash[] => {
      const part = parts.find((candidate) => hashPart(candidate) === hash)
      return part === undefined ? [] : [hash, ...partRefs(part).flatMap(closure)]
    }
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.subarray(hashes, { minLength: 1 }), { maxLength: 8 }),
        fc.scheduler(),
        async (holds, scheduler) => {
          const store = new PartStore({
            get: scheduler.scheduleFunction(async (hash: PartHash) => {
              const part = parts.find((candidate) => hashPart(candidate) === hash)
              if (part === undefined) throw new Error('unknown')
              return part
            }),
          })
          const done = holds.map(async (hold, index) => {
            const held = store.retain(hold)
            // Every other one gives up before it has what it requested.
            if (index % 2 === 1) store.release(hold)
            await held
          })
          await scheduler.waitFor(Promise.all(done))
          const expected = new Set(holds.filter((_, index) => index % 2 === 0).flatMap((hold) => hold.flatMap(closure)))
          expect(store.size).toBe(expected.size)
          for (const hash of expected) expect(store.find(hash)).toBeDefined()
          holds.forEach((hold, index) => {
            if (index % 2 === 0) store.release(hold)
          })
          expect(store.size).toBe(0)
        },
      ),
    )
  })
})
