import { describe, expect, it } from '@jest/globals'
import type { OutboundMatch } from '@osm-ts/driver-api/policy'

import { compareRanked, httpRank, type RankedMatch } from './route-order.js'

const header = (name: string) => ({ name, match: { type: 'present' } as const })
const parameter = (name: string) => ({ name, match: { type: 'exact', value: '1' } as const })

function ranked(match: OutboundMatch, more: Partial<RankedMatch> = {}): RankedMatch {
  return { rank: httpRank(match), route: { namespace: 'shop', name: 'web' }, createdAt: '', place: 0, ...more }
}

/** From the first to the last. */
const order: readonly RankedMatch[] = [
  ranked({ path: { type: 'exact', value: '/a' } }),
  ranked({ path: { type: 'regex', value: '/a.*' } }),
  ranked({ path: { type: 'segments', value: '/a/long/prefix' } }),
  ranked({ path: { type: 'segments', value: '/a' }, methods: ['GET'] }),
  ranked({ path: { type: 'segments', value: '/a' }, headers: [header('x'), header('y')] }),
  ranked({ path: { type: 'segments', value: '/a' }, headers: [header('x')], queryParameters: [parameter('q')] }),
  ranked({ path: { type: 'segments', value: '/a' }, headers: [header('x')] }),
  ranked({ path: { type: 'segments', value: '/a' } }),
  ranked({ methods: ['GET'] }),
  ranked({}, { createdAt: '2026-01-01T00:00:00.000Z', route: { namespace: 'shop', name: 'zoo' } }),
  ranked({}, { createdAt: '2026-02-01T00:00:00.000Z', route: { namespace: 'aaa', name: 'web' } }),
  ranked({}, { createdAt: '2026-02-01T00:00:00.000Z' }),
  ranked({}, { createdAt: '2026-02-01T00:00:00.000Z', place: 1 }),
]

describe('the order of routes', () => {
  it('is that of the Gateway API, whatever order they come in', () => {
    expect(order.toReversed().sort(compareRanked)).toEqual(order)
  })
})
