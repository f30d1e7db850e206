import { describe, expect, it } from '@jest/globals'
import type { Principal } from '@osm-ts/driver-api'
import type { RouteMatch } from '@osm-ts/driver-api/policy'
import fc from 'fast-check'

import { coversRange, parseIpRange } from '../../../spec/ip-range.js'
import type { AccessBackend, Opening } from './access-objects.js'
import { mergeIngressAccess } from './ingress-access.js'

const get: RouteMatch = { methods: ['GET'] }
const put: RouteMatch = { methods: ['PUT'] }
const gateway = 'gateway.example' as Principal
const other = 'other.example' as Principal

function backend(name: string, opening: Partial<Opening>): AccessBackend {
  return {
    service: 'store',
    targetPort: 8080,
    object: { kind: 'IngressBackend', namespace: 'shop', name },
    field: 'spec.backends[0]',
    opening: {
      protocol: 'http',
      tls: 'none',
      serverNames: [],
      sources: ['10.0.0.0/8'],
      principals: [],
      matches: [{}],
      origins: [],
      ...opening,
    },
  }
}

const mutual = (name: string, more: Partial<Opening>): AccessBackend =>
  backend(name, { tls: 'mtls', principals: [gateway], ...more })

const shown = (...backends: readonly AccessBackend[]) =>
  mergeIngressAccess(backends).groups.map(({ tls, serverNames, sources, principals, matches, backends: from }) => ({
    tls,
    ...(serverNames.length > 0 && { serverNames }),
    sources,
    ...(principals.length > 0 && { principals }),
    matches,
    from: from.map(({ object }) => object.name).join('+'),
  }))

const lost = (...backends: readonly AccessBackend[]) =>
  mergeIngressAccess(backends).contradictions.map(({ loser, owner }) => `${loser.object.name} to ${owner.object.name}`)

describe('mergeIngressAccess', () => {
  it('has none where no one is let in', () => {
    expect(mergeIngressAccess([])).toEqual({ groups: [], contradictions: [] })
    expect(shown({ ...backend('a', {}), opening: undefined })).toEqual([])
  })

  it('gives a range inside another what both let in', () => {
    const wide = backend('a', { matches: [get] })
    const narrow = backend('b', { sources: ['10.1.0.0/16', '192.0.2.1/32'], matches: [put] })
    expect(shown(wide, narrow)).toEqual([
      { tls: 'none', sources: ['10.0.0.0/8'], matches: [get], from: 'a' },
      { tls: 'none', sources: ['10.1.0.0/16'], matches: [get, put], from: 'a+b' },
      { tls: 'none', sources: ['192.0.2.1/32'], matches: [put], from: 'b' },
    ])
  })

  it('keeps callers with and without TLS apart', () => {
    expect(shown(backend('a', {}), mutual('b', {}))).toEqual([
      { tls: 'none', sources: ['10.0.0.0/8'], matches: [{}], from: 'a' },
      { tls: 'mtls', sources: ['10.0.0.0/8'], principals: [gateway], matches: [{}], from: 'b' },
    ])
  })

  it('gives a name that one backend has what others let in under any name', () => {
    expect(shown(mutual('a', { serverNames: ['a.example'], matches: [get] }), mutual('b', { matches: [put] }))).toEqual(
      [
        {
          tls: 'mtls',
          serverNames: ['a.example'],
          sources: ['10.0.0.0/8'],
          principals: [gateway],
          matches: [get, put],
          from: 'a+b',
        },
        { tls: 'mtls', sources: ['10.0.0.0/8'], principals: [gateway], matches: [put], from: 'b' },
      ],
    )
  })

  it('gives a name what a wildcard above it lets in, but not the other way round', () => {
    const names = shown(
      mutual('a', { serverNames: ['a.example'], matches: [get] }),
      mutual('b', { serverNames: ['*.example'], matches: [put] }),
    ).map(({ serverNames, matches }) => [serverNames, matches])
    expect(names).toEqual([
      [['a.example'], [get, put]],
      [['*.example'], [put]],
    ])
  })

  it('joins principals of equal routes', () => {
    expect(shown(mutual('a', {}), mutual('b', { principals: [other] }))).toMatchObject([
      { principals: [gateway, other], from: 'a+b' },
    ])
  })

  it.each([
    ['clients with and without certificates', backend('b', { tls: 'tls' })],
    ['other clients with other routes', mutual('b', { principals: [other], matches: [get] })],
    ['gRPC and HTTP', mutual('b', { protocol: 'grpc' })],
  ])('lets the first have callers on whom they differ: %s', (_what, second) => {
    const first = mutual('a', { matches: [put] })
    expect(shown(first, second)).toEqual(shown(first))
    expect(lost(first, second)).toEqual(['b to a'])
  })

  it('lets the second have callers whom the first does not know', () => {
    const second = mutual('b', { tls: 'tls', principals: [], sources: ['10.0.0.0/8', '192.0.2.0/24'] })
    expect(shown(mutual('a', {}), second).map(({ tls, sources }) => [tls, sources])).toEqual([
      ['mtls', ['10.0.0.0/8']],
      ['tls', ['192.0.2.0/24']],
    ])
  })
})

describe('random backends', () => {
  const sources = fc.subarray(['10.0.0.0/8', '10.1.0.0/16', '10.1.1.0/24', '10.2.0.0/16', '192.0.2.1/32'], {
    minLength: 1,
  })
  const names = fc.subarray(['a.example', 'b.example', '*.example', 'else'])
  const matches = fc.constantFrom([{}], [get], [put], [get, put])
  const callers = ['10.1.1.1', '10.1.2.1', '10.2.0.1', '10.9.0.1', '192.0.2.1', '192.0.2.2']
  const asked = ['a.example', 'b.example', 'c.example', 'else', 'none']
  const fits = (range: string, address: string): boolean => {
    const [outer, inner] = [parseIpRange(range), parseIpRange(address)]
    return outer !== undefined && inner !== undefined && coversRange(outer, inner)
  }
  const nameFits = (name: string, sni: string): boolean =>
    name === sni || (name.startsWith('*.') && sni.endsWith(name.slice(1)))

  it('let in through groups, found as sidecars find them, what they let in one by one', () => {
    const opening = fc.record({ tls: fc.constant('tls' as const), serverNames: names, sources, matches })
    fc.assert(
      fc.property(fc.array(opening, { minLength: 1, maxLength: 3 }), (openings) => {
        const backends = openings.map((each, index) => backend(`b${index}`, each))
        const { groups, contradictions } = mergeIngressAccess(backends)
        expect(contradictions).toEqual([])
        for (const sni of asked)
          for (const address of callers) {
            const known = groups.flatMap((group) => group.serverNames)
            const [name] = known
              .filter((each) => nameFits(each, sni))
              .sort((a, b) => Number(a.startsWith('*')) - Number(b.startsWith('*')))
            const byName = groups.filter(({ serverNames }) =>
              name === undefined ? serverNames.length === 0 : serverNames.includes(name),
            )
            const [found] = byName
              .flatMap((group) =>
                group.sources.filter((range) => fits(range, address)).map((range) => ({ group, range })),
              )
              .sort((a, b) => Number(b.range.split('/')[1]) - Number(a.range.split('/')[1]))
            const letIn = backends.flatMap(({ opening: each }) =>
              each !== undefined &&
              each.sources.some((range) => fits(range, address)) &&
              (each.serverNames.length === 0 || each.serverNames.some((own) => nameFits(own, sni)))
                ? each.matches
                : [],
            )
            const allows = (list: readonly RouteMatch[], method: string): boolean =>
              list.some(({ methods }) => methods === undefined || methods.includes(method))
            for (const method of ['GET', 'PUT', 'POST'])
              expect([sni, address, method, allows(found?.group.matches ?? [], method)]).toEqual([
                sni,
                address,
                method,
                allows(letIn, method),
              ])
          }
      }),
      { numRuns: 200 },
    )
  })
})
