import { describe, expect, it } from '@jest/globals'
import { canonicalJson, hashPart, type PartHash, type ProxyPart } from '@osm-ts/driver-api/policy'
import fc from 'fast-check'

import { framePart } from './part-frame.js'
import { makePart, type PolicyPart } from './policy-part.js'

const MEMBERS = ['outbound', 'upstreams', 'endpoints', 'egress', 'clientRules'] as const
type Member = (typeof MEMBERS)[number]

const reference = (name: string): PolicyPart =>
  makePart({ kind: 'principals', id: name, match: 'list', principals: [] })
const references = fc.record(
  Object.fromEntries(MEMBERS.map((name) => [name, fc.option(fc.string().map(reference), { nil: undefined })])),
) as fc.Arbitrary<Record<Member, PolicyPart | undefined>>

/** Some members of a proxy part, among them those that stand first, last, and between the references. Only their names and values matter here. */
const known = fc.record(
  {
    kind: fc.constant('proxy'),
    addresses: fc.array(fc.string()),
    cluster: fc.string(),
    dns: fc.string(),
    extensions: fc.array(fc.string()),
    mesh: fc.string(),
    trust: fc.string(),
    workload: fc.record({ b: fc.string(), a: fc.option(fc.nat(), { nil: undefined }) }),
  },
  { requiredKeys: ['kind'] },
)

describe('a framed part', () => {
  it('is the part that all of its members make', () => {
    fc.assert(
      fc.property(known, references, (fields, added) => {
        const frame = framePart<ProxyPart, Member>(fields as unknown as Omit<ProxyPart, Member>, MEMBERS, {
          origins: {},
          children: [],
        })
        const part = frame.complete(added)
        const hashes = MEMBERS.flatMap((name): [string, PartHash][] => {
          const hash = added[name]?.hash
          return hash === undefined ? [] : [[name, hash]]
        })
        const whole = { ...fields, ...Object.fromEntries(hashes) } as unknown as ProxyPart
        expect(part.part).toEqual(whole)
        expect(canonicalJson(part.part)).toBe(canonicalJson(whole))
        expect(part.hash).toBe(hashPart(whole))
        expect(part.children).toEqual(MEMBERS.flatMap((name) => added[name] ?? []))
        expect(Object.isFrozen(part.part)).toBe(true)
      }),
    )
  })

  it('has another text where anything that is known differs', () => {
    const frame = (fields: object) =>
      framePart<ProxyPart, Member>(fields as Omit<ProxyPart, Member>, MEMBERS, { origins: {}, children: [] }).text
    expect(frame({ kind: 'proxy', trust: 'a' })).toBe(frame({ trust: 'a', kind: 'proxy' }))
    expect(frame({ kind: 'proxy', trust: 'a' })).not.toBe(frame({ kind: 'proxy', mesh: 'a' }))
    expect(frame({ kind: 'proxy', trust: 'a' })).not.toBe(frame({ kind: 'proxy' }))
  })
})
