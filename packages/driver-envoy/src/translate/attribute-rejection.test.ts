import { describe, expect, it } from '@jest/globals'
import {
  hashPart,
  type InboundPart,
  type OutboundPart,
  type Part,
  refOf,
  type TrustPart,
} from '@osm-ts/driver-api/policy'

import type { EncodedResource } from '../resources/types.js'
import { type RejectedPart, attributeRejection } from './attribute-rejection.js'

const books: InboundPart = {
  kind: 'inbound',
  id: 'shop/books|8080',
  service: { namespace: 'shop', name: 'books' },
  port: 80,
  targetPort: 8080,
  protocol: 'http',
  serverNames: ['books.shop.svc.cluster.local'],
  rules: {
    kind: 'http',
    hosts: ['books.shop', 'books.shop.svc.cluster.local'],
    allow: [
      { match: { path: { type: 'regex', value: '/a' } }, allow: hashOf('a') },
      { match: { path: { type: 'regex', value: '/a(b' } }, allow: hashOf('b') },
    ],
    routeLimits: [],
  },
}
const authors: InboundPart = {
  ...books,
  id: 'shop/authors|8080',
  service: { namespace: 'shop', name: 'authors' },
  serverNames: ['authors.shop.svc.cluster.local'],
  rules: { kind: 'deny' },
}
const trust: TrustPart = {
  kind: 'trust',
  id: 'trust',
  trustDomain: 'cluster.local',
  roots: ['-----BEGIN CERTIFICATE-----'],
  minVersion: 'TLSv1_2',
  maxVersion: 'TLSv1_3',
  cipherSuites: ['ECDHE-ECDSA-AES128-GCM-SHA256', 'NOPE'],
  ecdhCurves: [],
  alpn: 'osm',
}

function hashOf(text: string): InboundPart['rules'] extends { allow: infer H } ? H : never {
  return text as never
}

function attribute(message: string, ...parts: readonly Part[]): readonly RejectedPart[] {
  const byHash = new Map(parts.map((part) => [hashPart(part), part]))
  const resource: EncodedResource = {
    name: 'inbound-listener',
    version: '1',
    value: new Uint8Array(),
    sources: [...byHash].map(([hash, part]) => refOf(part, hash)),
  }
  return attributeRejection(message, resource, (hash) => byHash.get(hash))
}

function ref(part: Part): RejectedPart['part'] {
  return refOf(part, hashPart(part))
}

// The messages are those of Envoy 1.40.
describe('attributeRejection', () => {
  it('finds the rule whose pattern is refused, and not one whose pattern it begins with', () => {
    expect(attribute('missing ): /a(b', books, authors)).toEqual([
      { part: ref(books), element: '/rules/allow/1/match/path/value' },
    ])
  })

  it('finds the cipher suite that is refused', () => {
    const message =
      'Error adding/updating listener(s) inbound-listener: Failed to initialize cipher suites NOPE. The following ciphers were rejected when tried individually: NOPE\n'
    expect(attribute(message, books, trust)).toEqual([{ part: ref(trust), element: '/cipherSuites/1' }])
  })

  it('finds both owners of a host name that stands twice', () => {
    const other: OutboundPart = {
      kind: 'outbound',
      id: 'shop/pens|80',
      service: { namespace: 'shop', name: 'pens' },
      port: 80,
      protocol: 'http',
      addresses: [],
      hosts: ['books.shop'],
      shortHost: 'pens',
      rules: { kind: 'http', routes: [] },
    }
    const message =
      'Only unique values for domains are permitted. Duplicate entry of domain books.shop in route rds-outbound.80'
    expect(attribute(message, books, authors, other)).toEqual([
      { part: ref(books), element: '/rules/hosts/0' },
      { part: ref(other), element: '/hosts/0' },
    ])
  })

  it('finds parts by the names of their filter chains', () => {
    const message =
      "Error adding/updating listener(s) inbound-listener: error adding listener '0.0.0.0:15003': filter chain 'inbound_shop/authors_8080_http' has the same matching rules defined as 'x'"
    expect(attribute(message, books, authors, trust)).toEqual([{ part: ref(authors) }])
  })

  it('names every source where the message names none', () => {
    expect(attribute('something went wrong', books, trust)).toEqual([{ part: ref(books) }, { part: ref(trust) }])
  })

  it('does without parts that are not held any more', () => {
    const resource: EncodedResource = {
      name: 'x',
      version: '1',
      value: new Uint8Array(),
      sources: [ref(books)],
    }
    expect(attributeRejection('missing ): /a(b', resource, () => undefined)).toEqual([{ part: ref(books) }])
  })
})
