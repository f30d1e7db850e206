import { describe, expect, it } from '@jest/globals'
import type { RoutedPathMatch } from '@osm-ts/driver-api/policy'

import type { GRPCRouteMatch } from '../../../spec/index.js'
import { objectRefOf, ProblemList } from '../problems/problems.js'
import { grpcConditions } from './grpc-conditions.js'
import { compareRanked } from './route-order.js'
import { RuleFaults } from './rule-faults.js'

type Method = Partial<NonNullable<GRPCRouteMatch['method']>>

function read(method: Method, headers: GRPCRouteMatch['headers'] = []) {
  const problems = new ProblemList(objectRefOf('GRPCRoute', { namespace: 'shop', name: 'web' }))
  const faults = new RuleFaults(problems, 'nothing')
  const requests = grpcConditions({ method: { type: 'Exact', ...method }, headers }, 'match', faults)
  return { requests, faults: problems.items.map(({ code, field }) => `${code} ${field ?? ''}`) }
}

const expression = (method: Method): Method => ({ type: 'RegularExpression', ...method })

describe('a match of gRPC calls', () => {
  it.each<[Method, RoutedPathMatch]>([
    [
      { service: 'a.B', method: 'C' },
      { type: 'exact', value: '/a.B/C' },
    ],
    [{ service: 'a.B' }, { type: 'segments', value: '/a.B' }],
    [{ method: 'C' }, { type: 'regex', value: '/[^/]+/C' }],
    [expression({ service: 'a[.](B|C)' }), { type: 'regex', value: '/(?:a[.](B|C))/[^/]+' }],
    [expression({ service: '[^a]+', method: 'x|y' }), { type: 'regex', value: '/[^a]+/(?:x|y)' }],
  ])('is one of paths: %j', (method, path) => {
    expect(read(method)).toMatchObject({ requests: { match: { path } }, faults: [] })
  })

  it.each<[Method, string]>([
    [{}, 'OSM_SPEC_ROUTE_VALUE match.method'],
    [{ service: '', method: '' }, 'OSM_SPEC_ROUTE_VALUE match.method'],
    [{ service: 'a/B' }, 'OSM_SPEC_ROUTE_VALUE match.method.service'],
    [{ service: 'a.B', method: 'C.D' }, 'OSM_SPEC_ROUTE_VALUE match.method.method'],
    [expression({ service: 'a)|(b' }), 'OSM_SPEC_REGEX match.method.service'],
    [expression({ service: 'a', method: '^C$' }), 'OSM_SPEC_REGEX match.method.method'],
    [expression({ service: String.raw`\AC` }), 'OSM_SPEC_REGEX match.method.service'],
    [expression({ service: 'a'.repeat(1000), method: 'b'.repeat(1000) }), 'OSM_SPEC_REGEX match.method'],
  ])('is refused with its place: %j', (method, fault) => {
    expect(read(method)).toEqual({ requests: undefined, faults: [fault] })
  })

  it('comes first with the longest service, then the longest method, then the most headers', () => {
    const header = { type: 'Exact', name: 'x', value: 'y' } as const
    const order = [
      read({ service: 'shop.Bookshelf' }),
      read({ service: 'shop.Books', method: 'List' }, [header]),
      read({ service: 'shop.Books', method: 'List' }),
      read({ service: 'shop.Books', method: 'Get' }, [header]),
      read({ service: 'shop.Books' }),
      read({ method: 'LongestOfAll' }),
    ].map(({ requests }) => ({
      rank: requests?.rank ?? [],
      route: { namespace: 'shop', name: 'web' },
      createdAt: '',
      place: 0,
    }))
    expect(order.toReversed().sort(compareRanked)).toEqual(order)
  })
})
