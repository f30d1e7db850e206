import { describe, expect, it } from '@jest/globals'
import type { PartHash, ProxyPart, SetMemberKind, SetPart } from '@osm-ts/driver-api/policy'
import fc from 'fast-check'

import { makePart, type PolicyPart } from '../policy/parts/policy-part.js'
import { PolicyPartStore } from './policy-part-store.js'
import { PolicyDiffs, refOf } from './policy-diff.js'

const leaf = (kind: 'endpoints' | 'outbound', id: string, version: number): PolicyPart => {
  if (kind === 'endpoints') {
    const endpoint = {
      address: '10.0.0.1',
      port: version,
      weight: 1,
      priority: 0,
      locality: { region: '', zone: '', subZone: '' },
      cluster: '',
    }
    return makePart({ kind, id, endpoints: [endpoint] })
  }
  return makePart({
    kind,
    id,
    service: { namespace: 'n', name: id },
    port: version,
    protocol: 'tcp',
    addresses: [],
    hosts: [],
    shortHost: id,
    rules: { kind: 'tcp', targets: [] },
  })
}

const set = (
  of: SetMemberKind,
  id: string,
  members: readonly PolicyPart[],
  sets: readonly PolicyPart<SetPart>[],
): PolicyPart<SetPart> =>
  makePart(
    {
      kind: 'set',
      id,
      of,
      members: members.map(({ part, hash }) => ({ id: part.id, hash })),
      sets: sets.map(({ part, hash }) => ({ id: part.id, hash })),
    },
    { children: [...members, ...sets] },
  )

const principals = (name: string): PolicyPart =>
  makePart({ kind: 'principals', id: name, match: 'list', principals: [] })

/** A root. Only what it refers to matters here, so that it is not a complete proxy part. */
const root = (children: readonly PolicyPart[]): PolicyPart<ProxyPart> =>
  makePart({ kind: 'proxy', children: children.map((child) => child.hash) } as unknown as ProxyPart, { children })

interface Shape {
  /** Per kind and service: in which of two nested sets it is (or in none), and its version. */
  readonly endpoints: readonly { readonly place: number; readonly version: number }[]
  readonly outbound: readonly { readonly place: number; readonly version: number }[]
  /** Inbound-like parts, each with the principals it refers to. */
  readonly rules: readonly (readonly string[])[]
}

const slots = fc.array(fc.record({ place: fc.nat(2), version: fc.integer({ min: 1, max: 2 }) }), {
  minLength: 3,
  maxLength: 3,
})
const shapes: fc.Arbitrary<Shape> = fc.record({
  endpoints: slots,
  outbound: slots,
  rules: fc.array(fc.array(fc.constantFrom('p', 'q', 'r'), { maxLength: 2 }), { maxLength: 3 }),
})

function build(shape: Shape): PolicyPart<ProxyPart> {
  const sets = (['endpoints', 'outbound'] as const).map((kind) => {
    const at = (place: number) =>
      shape[kind].flatMap((slot, index) => (slot.place === place ? [leaf(kind, `s${index}`, slot.version)] : []))
    return set(kind, kind, at(2), [set(kind, `${kind}/a`, at(0), []), set(kind, `${kind}/b`, at(1), [])])
  })
  const rules = shape.rules.map((names, index) => {
    const children = names.map(principals)
    const match = 'trustDomain' as const
    return makePart({ kind: 'principals', id: `rule${index}`, match, trustDomain: names.join(' ') }, { children })
  })
  return root([...sets, ...rules])
}

function reachableHashes(part: PolicyPart, found = new Set<PartHash>()): ReadonlySet<PartHash> {
  for (const child of part.children) {
    found.add(child.hash)
    reachableHashes(child, found)
  }
  return found
}

describe('PolicyDiffs', () => {
  it('gives exactly what became reachable and what no longer is', () => {
    const diffs = new PolicyDiffs()
    fc.assert(
      fc.property(shapes, shapes, (first, second) => {
        const [before, after] = [build(first), build(second)]
        const [earlier, later] = [reachableHashes(before), reachableHashes(after)]
        const { added, removed } = diffs.between(before, after)
        const hashes = (refs: typeof added) => refs.map((ref) => ref.hash)
        expect(hashes(added).toSorted()).toEqual([...later].filter((hash) => !earlier.has(hash)).toSorted())
        expect(hashes(removed).toSorted()).toEqual([...earlier].filter((hash) => !later.has(hash)).toSorted())
        expect(hashes(diffs.between(undefined, after).added).toSorted()).toEqual([...later].toSorted())
      }),
      { numRuns: 500 },
    )
  })

  it('gives nothing between equal versions', () => {
    const shape: Shape = { endpoints: [{ place: 0, version: 1 }], outbound: [], rules: [['p']] }
    expect(new PolicyDiffs().between(build(shape), build(shape))).toEqual({ added: [], removed: [] })
  })
})

describe('PolicyPartStore', () => {
  it('holds exactly what the versions in use need', () => {
    fc.assert(
      fc.property(
        fc.array(shapes, { minLength: 1, maxLength: 5 }),
        fc.array(fc.nat(4), { maxLength: 10 }),
        (list, order) => {
          const store = new PolicyPartStore()
          // Each holder brings its own object: equal parts must count as one, whatever object they are.
          const held = new Map<number, PolicyPart[]>()
          for (const pick of order) {
            const index = pick % list.length
            const holders = held.get(index) ?? []
            held.set(index, holders)
            const next = build(list[index] as Shape)
            if (holders.length < 2) {
              store.retain(next)
              holders.push(next)
            } else store.release(holders.shift() as PolicyPart)
            const expected = new Set<PartHash>()
            for (const version of [...held.values()].flat()) {
              expected.add(version.hash)
              reachableHashes(version, expected)
            }
            expect(store.size).toBe(expected.size)
            for (const hash of expected) expect(store.get(hash)).toBeDefined()
          }
          for (const version of [...held.values()].flat()) store.release(version)
          expect(store.size).toBe(0)
        },
      ),
    )
  })

  it('replaces a version like holding the new one and releasing the old one', () => {
    fc.assert(
      fc.property(
        fc.array(shapes, { minLength: 1, maxLength: 4 }),
        fc.array(fc.tuple(fc.nat(3), fc.nat(3)), { maxLength: 10 }),
        (list, steps) => {
          const versions = list.map(build)
          const at = (pick: number) => versions[pick % versions.length] as PolicyPart<ProxyPart>
          const [replacing, plain] = [new PolicyPartStore(), new PolicyPartStore()]
          // Two holders at once, so that a version may stay for the sake of the other.
          const held = [at(0), at(1)]
          for (const version of held) for (const store of [replacing, plain]) store.retain(version)
          for (const [holder, pick] of steps) {
            const before = held[holder % 2] as PolicyPart<ProxyPart>
            const after = at(pick)
            replacing.replace(before, after)
            plain.retain(after)
            plain.release(before)
            held[holder % 2] = after
            expect(replacing.size).toBe(plain.size)
            for (const hash of reachableHashes(after)) expect(replacing.get(hash)).toBeDefined()
          }
          for (const version of held) replacing.release(version)
          expect(replacing.size).toBe(0)
        },
      ),
    )
  })

  it('knows every origin of equal parts', () => {
    const store = new PolicyPartStore()
    const [one, two] = [principals('p'), principals('p')]
    store.retain(one)
    store.retain(two)
    expect(store.find(one.hash)).toEqual([one, two])
    store.release(one)
    expect(store.find(one.hash)).toEqual([two])
  })

  it('refuses to release a part that is not held', () => {
    const part = principals('p')
    const store = new PolicyPartStore()
    store.retain(part)
    store.release(part)
    expect(store.get(part.hash)).toBeUndefined()
    expect(() => store.release(part)).toThrow('not held')
  })

  it('names parts by kind, id and hash', () => {
    const part = principals('p')
    expect(refOf(part)).toEqual({ kind: 'principals', id: 'p', hash: part.hash })
  })
})
