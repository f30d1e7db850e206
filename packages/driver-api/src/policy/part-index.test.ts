import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { bookbuyer, ledger } from '../../test/examples.js'
import { bagOf, rebuilt } from '../../test/part-bag.js'
import { policyVersions, proxyPolicy } from '../../test/policy-arbitraries.js'
import { canonicalJson } from './canonical.js'
import { diffRefs, refOf } from './collect.js'
import { PartIndex } from './part-index.js'
import type { Part, PartHash } from './parts.js'
import type { PartRef, ProxyPolicy } from './policy.js'

function indexOf(...policies: readonly ProxyPolicy[]): PartIndex {
  const bags = policies.map(bagOf)
  return new PartIndex((hash) => {
    const bag = bags.find((_, place) => Object.hasOwn(policies[place]?.parts ?? {}, hash))
    if (bag === undefined) throw new RangeError(`no part has the hash ${hash}`)
    return bag.get(hash)
  })
}

function refsOf({ parts }: ProxyPolicy): readonly PartRef[] {
  return Object.entries(parts).map(([hash, part]) => refOf(part, hash as PartHash))
}

function byHash(refs: readonly PartRef[]): readonly PartRef[] {
  return [...refs].sort((a, b) => (a.hash < b.hash ? -1 : 1))
}

describe('PartIndex', () => {
  it('reaches what the document holds, each part once', () => {
    fc.assert(
      fc.property(proxyPolicy, (policy) => {
        expect(byHash(indexOf(policy).refs(policy.proxy))).toEqual(refsOf(policy))
      }),
    )
  })

  it('collects the same document as a walk without memory', () => {
    fc.assert(
      fc.property(policyVersions, ([before, after]) => {
        const index = indexOf(before, after)
        for (const policy of [before, after, before]) {
          expect(canonicalJson(index.collect(policy.proxy))).toBe(canonicalJson(policy))
        }
      }),
      { numRuns: 50 },
    )
  })

  it('finds the differences that a comparison of whole documents finds', () => {
    fc.assert(
      fc.property(policyVersions, ([before, after]) => {
        const index = indexOf(before, after)
        const { added, removed } = index.diff(before.proxy, after.proxy)
        const expected = diffRefs(refsOf(before), refsOf(after))
        expect(byHash(added)).toEqual(expected.added)
        expect(byHash(removed)).toEqual(expected.removed)
      }),
      { numRuns: 200 },
    )
  })

  it('starts from nothing', () => {
    const policy = bookbuyer()
    expect(indexOf(policy).diff(undefined, policy.proxy)).toEqual({
      added: indexOf(policy).refs(policy.proxy),
      removed: [],
    })
  })

  it('does not report a member that moved from one set to another', () => {
    const before = ledger()
    const service = Object.entries(before.parts).find(([, part]) => part.kind === 'outbound')
    if (service === undefined) throw new Error('the ledger calls something')
    const after = rebuilt(before, (part: Part): Part => {
      if (part.kind !== 'set' || part.of !== 'outbound') return part
      if (part.id === 'outbound/bank') return { ...part, members: [] }
      return { ...part, members: [{ id: service[1].id, hash: service[0] as PartHash }] }
    })
    const { added, removed } = indexOf(before, after).diff(before.proxy, after.proxy)
    const names = (refs: readonly PartRef[]) => refs.map(({ kind, id }) => `${kind} ${id}`).sort()
    expect(names(added)).toEqual(['set outbound/bank', 'set outbound/ledger.bank'])
    expect(names(removed)).toEqual(['set outbound/bank', 'set outbound/ledger.bank'])
  })

  it('reads a set once for all references, until it is evicted', () => {
    const policy = ledger()
    const reads: string[] = []
    const bag = bagOf(policy)
    const index = new PartIndex((hash) => {
      const part = bag.get(hash)
      if (part.kind === 'set') reads.push(part.id)
      return part
    })
    index.refs(policy.proxy)
    index.refs(policy.proxy)
    const sets = ['outbound/ledger.bank', 'outbound/bank', 'upstream/ledger.bank', 'endpoints/ledger.bank']
    expect(reads).toEqual(sets)
    expect(index.size).toBe(4)
    expect(index.evict(policy.proxy.outbound ?? ('' as PartHash))).toBe(true)
    expect(index.evict(policy.proxy.outbound ?? ('' as PartHash))).toBe(false)
    index.refs(policy.proxy)
    expect(reads.slice(4)).toEqual(['outbound/ledger.bank'])
    index.clear()
    expect(index.size).toBe(0)
    index.refs(policy.proxy)
    expect(reads.slice(5)).toEqual(sets)
  })

  it('passes on what the look-up throws', () => {
    expect(() => indexOf().refs(bookbuyer().proxy)).toThrow(RangeError)
  })
})
