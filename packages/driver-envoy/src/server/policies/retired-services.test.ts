import { describe, expect, it } from '@jest/globals'
import { hashPart, type OutboundPart, type Part, type SetPart } from '@osm-ts/driver-api/policy'
import { proxyPart } from '@osm-ts/driver-testkit'

import type { PolicyView } from './drain-tracker.js'
import { RetiredServices } from './retired-services.js'

const outbound = (id: string, ...addresses: readonly string[]): OutboundPart =>
  ({ kind: 'outbound', id, addresses, rules: { kind: 'http' } }) as unknown as OutboundPart

function set(id: string, parts: readonly Part[], sets: readonly SetPart[] = []): SetPart {
  const refs = (list: readonly Part[]) => list.map((part) => ({ id: part.id, hash: hashPart(part) }))
  return { kind: 'set', id, of: 'outbound', members: refs(parts), sets: refs(sets) }
}

/** A policy that calls services of two namespaces. */
function view(a: readonly OutboundPart[], b: readonly OutboundPart[] = [], mode = 'transparent'): PolicyView {
  const inner = [set('a', a), set('b', b)]
  const root = set('root', [], inner)
  const byHash = new Map([...a, ...b, ...inner, root].map((part) => [hashPart(part), part]))
  return {
    proxy: { ...proxyPart('p', 'envoy'), mode: mode as 'transparent', outbound: hashPart(root) },
    find: (hash) => byHash.get(hash),
  }
}

const web = outbound('a/web|80', '10.0.0.1')
const shop = outbound('b/shop|80', '10.0.0.2')
const idsOf = (retired: RetiredServices): readonly string[] => retired.list.map(({ id }) => id)

describe('retired services', () => {
  let now = 1000
  const retired = (): RetiredServices => {
    now = 1000
    return new RetiredServices({ ms: 10, now: () => now })
  }

  it('are those that a policy no longer has, for as long as connections drain', () => {
    const services = retired()
    services.advance(view([web], [shop]), view([web]))
    expect(services.list).toEqual([shop])
    expect(services.nextInMs).toBe(10)
    now += 9
    expect(services.expire()).toBe(false)
    now += 1
    expect(services.nextInMs).toBe(0)
    expect(services.expire()).toBe(true)
    expect(services.list).toEqual([])
    expect(services.nextInMs).toBeUndefined()
  })

  it('are those that lost an address, and no others that changed', () => {
    const services = retired()
    const moved = outbound('a/web|80', '10.0.0.9')
    services.advance(view([web], [shop]), view([moved], [outbound('b/shop|80', '10.0.0.2', '10.0.0.3')]))
    expect(services.list).toEqual([web])
  })

  it('are those that speak something else from now on', () => {
    const services = retired()
    const tcp = { ...web, rules: { kind: 'tcp', targets: [] } } as OutboundPart
    services.advance(view([web]), view([tcp]))
    expect(services.list).toEqual([web])
  })

  it('are none once they are back', () => {
    const services = retired()
    services.advance(view([web], [shop]), view([web]))
    services.advance(view([web]), view([web], [shop]))
    expect(services.list).toEqual([])
  })

  it('come in the order of their ids and stay the same list while nothing changes', () => {
    const services = retired()
    services.advance(view([web], [shop]), view([web]))
    now += 1
    services.advance(view([web]), view([]))
    expect(idsOf(services)).toEqual(['a/web|80', 'b/shop|80'])
    const { list } = services
    services.advance(view([]), view([]))
    expect(services.list).toBe(list)
    now += 9
    services.advance(view([]), view([]))
    expect(idsOf(services)).toEqual(['a/web|80'])
  })

  it('are none in explicit mode, where hosts choose', () => {
    const services = retired()
    services.advance(view([web], [], 'explicit'), view([], [], 'explicit'))
    expect(services.list).toEqual([])
  })
})
