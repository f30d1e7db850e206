import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { anyPart } from '../../test/arbitraries.js'
import { bookbuyer } from '../../test/examples.js'
import { bagOf } from '../../test/part-bag.js'
import { policyVersions, proxyPolicy } from '../../test/policy-arbitraries.js'
import { canonicalJson, hashPart } from './canonical.js'
import { collectPolicy, diffRefs, refOf } from './collect.js'
import type { PartHash } from './parts.js'
import type { PartRef, ProxyPolicy } from './policy.js'
import { partRefs } from './references.js'

function refsOf({ parts }: ProxyPolicy): readonly PartRef[] {
  return Object.entries(parts).map(([hash, part]) => refOf(part, hash as PartHash))
}

describe('collectPolicy', () => {
  it('gives back a document from its root and its parts', () => {
    fc.assert(
      fc.property(proxyPolicy, (policy) => {
        const collected = collectPolicy(policy.proxy, bagOf(policy).get)
        expect(canonicalJson(collected)).toBe(canonicalJson(policy))
        expect(Object.keys(collected.parts)).toEqual(Object.keys(policy.parts).sort())
        expect(collected.version).toBe(hashPart(policy.proxy))
      }),
    )
  })

  it('requests each part once', () => {
    fc.assert(
      fc.property(proxyPolicy, (policy) => {
        const asked: PartHash[] = []
        const bag = bagOf(policy)
        collectPolicy(policy.proxy, (hash) => {
          asked.push(hash)
          return bag.get(hash)
        })
        expect(asked.sort()).toEqual(Object.keys(policy.parts))
      }),
    )
  })

  it('passes on what the look-up throws', () => {
    expect(() =>
      collectPolicy(bookbuyer().proxy, () => {
        throw new RangeError('gone')
      }),
    ).toThrow(new RangeError('gone'))
  })
})

describe('partRefs', () => {
  it('returns every hash in a part, and nothing else', () => {
    fc.assert(
      fc.property(anyPart, (part) => {
        fc.pre(part.kind !== 'extension')
        const strings: string[] = []
        JSON.stringify(part, (_, value: unknown) => {
          if (typeof value === 'string' && /^[A-Za-z0-9_-]{32}$/.test(value)) strings.push(value)
          return value
        })
        expect([...partRefs(part)].sort()).toEqual([...new Set(strings)].sort())
      }),
      { numRuns: 200 },
    )
  })
})

describe('diffRefs', () => {
  it('leads from one version to the other', () => {
    fc.assert(
      fc.property(policyVersions, ([before, after]) => {
        const { added, removed } = diffRefs(refsOf(before), refsOf(after))
        const held = new Set(refsOf(before).map(({ hash }) => hash))
        for (const { hash } of removed) expect(held.delete(hash)).toBe(true)
        for (const { hash } of added) {
          expect(held.has(hash)).toBe(false)
          held.add(hash)
        }
        expect([...held].sort()).toEqual(Object.keys(after.parts))
      }),
    )
  })
})
