import { describe, expect, it } from '@jest/globals'
import type { EndpointsPart, PartHash, ProxyPart, SetPart } from '@osm-ts/driver-api/policy'

import { makePart, type PolicyPart } from '../catalog/policy/parts/policy-part.js'
import { CallersOfEndpoints } from './callers-of-endpoints.js'

const frame = (id: string): PolicyPart<EndpointsPart> => makePart({ kind: 'endpoints', id, endpoints: [] })

function set(id: string, members: readonly PolicyPart[], sets: readonly PolicyPart<SetPart>[]): PolicyPart<SetPart> {
  const refs = <R extends PolicyPart>(parts: readonly R[]) => parts.map(({ part, hash }) => ({ id: part.id, hash }))
  return makePart<SetPart>(
    { kind: 'set', id, of: 'endpoints', members: refs(members), sets: refs(sets) },
    { children: [...members, ...sets] },
  )
}

/** A root that refers to the set; nothing else of it matters here. */
function policy(endpoints?: PolicyPart<SetPart>): PolicyPart<ProxyPart> {
  const root = { kind: 'proxy', id: 'u', ...(endpoints !== undefined && { endpoints: endpoints.hash }) }
  return makePart(root as unknown as ProxyPart, { children: endpoints === undefined ? [] : [endpoints] })
}

const [store, other] = [frame('shop/store|80'), frame('shop/other|80')]
const both = policy(set('all', [], [set('shop', [store, other], [])]))
const one = policy(set('all', [], [set('shop', [other], [])]))

function calledBy(callers: CallersOfEndpoints<string>, parts: readonly PartHash[]): readonly string[] {
  const found: string[] = []
  callers.forEachOf(parts, (caller) => found.push(caller))
  return found
}

describe('CallersOfEndpoints', () => {
  it('finds those whose policy names a part, however deep', () => {
    const callers = new CallersOfEndpoints<string>()
    callers.set('a', both)
    callers.set('b', both)
    callers.set('c', one)
    callers.set('d', policy())
    expect(calledBy(callers, [store.hash])).toEqual(['a', 'b'])
    expect(calledBy(callers, [store.hash, other.hash])).toEqual(['a', 'b', 'c'])
    expect(callers.policyOf('c')).toBe(one)
    expect(callers.policyOf('d')).toBeUndefined()
    expect(['a', 'c', 'd', 'e'].map((caller) => callers.names(caller, [store.hash]))).toEqual([
      true,
      false,
      false,
      false,
    ])
  })

  it('follows who gets another policy, and forgets who is gone', () => {
    const callers = new CallersOfEndpoints<string>()
    callers.set('a', both)
    callers.set('b', both)
    callers.set('a', one)
    expect(calledBy(callers, [store.hash])).toEqual(['b'])
    callers.set('a', policy())
    callers.delete('b')
    callers.delete('b')
    expect(calledBy(callers, [store.hash, other.hash])).toEqual([])
  })
})
