import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { anyPart, partArbitraries } from '../../test/arbitraries.js'
import { mutatedPart } from '../../test/mutations.js'
import { proxyPolicy } from '../../test/policy-arbitraries.js'
import { hashPart } from './canonical.js'
import { partSchemas } from './schema.js'
import { validatePart, validatePolicy, validatePolicyUpdate } from './validate.js'

const kinds = Object.keys(partSchemas) as (keyof typeof partSchemas)[]

describe('validatePart', () => {
  it.each(kinds)('accepts every %s part', (kind) => {
    fc.assert(
      fc.property(partArbitraries[kind], (part) => {
        expect(validatePart(part)).toEqual([])
      }),
    )
  })

  it.each(kinds)('accepts a %s part that came over a wire', (kind) => {
    fc.assert(
      fc.property(partArbitraries[kind], (part) => {
        expect(validatePart(JSON.parse(JSON.stringify(part)))).toEqual([])
      }),
      { numRuns: 20 },
    )
  })

  it('refuses a part with a member too many, one too few, or one of another type', () => {
    fc.assert(
      fc.property(mutatedPart(anyPart), ({ value }) => {
        expect(validatePart(value)).not.toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  it('points at the member', () => {
    fc.assert(
      fc.property(mutatedPart(partArbitraries.outbound), ({ mutation, value }) => {
        const path = mutation.path.map((token) => `/${token}`).join('')
        const pointer = mutation.what === 'adds a member' ? `${path}/not-a-member` : path
        expect(validatePart(value).map((issue) => issue.pointer)).toContain(pointer)
      }),
    )
  })

  it.each([
    ['nothing', undefined, ''],
    ['null', null, ''],
    ['text', 'inbound', ''],
    ['no kind', {}, '/kind'],
    ['an unknown kind', { kind: 'listener' }, '/kind'],
    ['the name of an inherited member', { kind: 'toString' }, '/kind'],
  ])('refuses %s', (_what, value, pointer) => {
    expect(validatePart(value).map((issue) => issue.pointer)).toEqual([pointer])
  })
})

describe('validatePolicy', () => {
  it('accepts every document', () => {
    fc.assert(
      fc.property(proxyPolicy, (policy) => {
        expect(validatePolicy(policy)).toEqual([])
      }),
    )
  })

  it('refuses a document whose parts do not fit before it looks at how they fit together', () => {
    const [policy] = fc.sample(proxyPolicy, { numRuns: 1, seed: 1 })
    expect(validatePolicy({ ...policy, policyVersion: 2 })).toEqual([
      { pointer: '/policyVersion', message: 'expected 1' },
    ])
  })
})

describe('validatePolicyUpdate', () => {
  it('accepts a step of a stream', () => {
    fc.assert(
      fc.property(partArbitraries.proxy, fc.nat(), (proxy, revision) => {
        const removed = [{ kind: 'trust', id: 'trust', hash: hashPart(proxy) }]
        expect(validatePolicyUpdate({ revision, version: hashPart(proxy), proxy, added: [], removed })).toEqual([])
      }),
      { numRuns: 20 },
    )
  })

  it('refuses references without a hash', () => {
    const [proxy] = fc.sample(partArbitraries.proxy, { numRuns: 1, seed: 1 })
    const update = { revision: -1, version: 'x', proxy, added: [{ kind: 'mesh', id: 'mesh' }], removed: [] }
    expect(validatePolicyUpdate(update).map((issue) => issue.pointer)).toEqual([
      '/revision',
      '/version',
      '/added/0/hash',
    ])
  })
})
