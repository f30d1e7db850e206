import { describe, expect, it } from '@jest/globals'
import type { Principal } from '@osm-ts/driver-api'

import { spiffeId } from './identity-names.js'

function idOf(principal: string, trustDomain = 'cluster.local'): string | undefined {
  return spiffeId(principal as Principal, trustDomain)
}

describe('spiffeId', () => {
  it('names the service account and the namespace', () => {
    expect(idOf('books.shop.cluster.local')).toBe('spiffe://cluster.local/books/shop')
  })

  it('takes dots for part of the service account', () => {
    expect(idOf('books.v2.shop.cluster.local')).toBe('spiffe://cluster.local/books.v2/shop')
  })

  it('tells an identity from the service that has the same DNS name', () => {
    // A service account `shop.eu` of the namespace `svc`, and the service `shop` in the namespace `eu`.
    expect(idOf('shop.eu.svc.cluster.local')).toBe('spiffe://cluster.local/shop.eu/svc')
  })

  it.each(['books.shop.other.example', 'shop.cluster.local', '.shop.cluster.local', 'cluster.local', ''])(
    'knows nothing of %s',
    (principal) => {
      expect(idOf(principal)).toBeUndefined()
    },
  )
})
