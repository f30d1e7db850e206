import { create, toBinary } from '@bufbuild/protobuf'
import { describe, expect, it } from '@jest/globals'
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema,
} from '@osm-ts/envoy-api/envoy/service/discovery/v3/discovery_pb.js'
import fc from 'fast-check'

import { decodeDeltaRequest, decodeStateOfTheWorldRequest } from './request-codec.js'

const text = fc.string({ unit: 'grapheme' })
const names = fc.array(text, { maxLength: 5 })
const status = fc.option(fc.record({ code: fc.integer({ min: -5, max: 20 }), message: text }), { nil: undefined })
const nodeId = fc.option(text, { nil: undefined })
const node = (id: string) => ({
  id,
  cluster: 'bookbuyer.bookbuyer',
  locality: { zone: 'z' },
  userAgentName: 'envoy',
  extensions: [{ name: 'envoy.filters.http.router', category: 'envoy.filters.http' }],
})

describe('requests', () => {
  it('of the state-of-the-world variant are read as a protobuf library writes them', () => {
    fc.assert(
      fc.property(text, nodeId, names, text, text, status, (version, id, resourceNames, typeUrl, nonce, error) => {
        const message = create(DiscoveryRequestSchema, {
          versionInfo: version,
          resourceNames,
          resourceLocators: [{ name: 'ignored' }],
          typeUrl,
          responseNonce: nonce,
          ...(id !== undefined && { node: node(id) }),
          ...(error !== undefined && { errorDetail: error }),
        })
        expect(decodeStateOfTheWorldRequest(toBinary(DiscoveryRequestSchema, message))).toEqual({
          versionInfo: version,
          resourceNames,
          typeUrl,
          responseNonce: nonce,
          ...(id !== undefined && { nodeId: id }),
          ...(error !== undefined && { errorDetail: error }),
        })
      }),
    )
  })

  it('of the delta variant are read as a protobuf library writes them', () => {
    const versions = fc.dictionary(text, text, { maxKeys: 5 })
    fc.assert(
      fc.property(nodeId, text, names, names, versions, text, status, (id, typeUrl, add, drop, held, nonce, error) => {
        const message = create(DeltaDiscoveryRequestSchema, {
          typeUrl,
          resourceNamesSubscribe: add,
          resourceNamesUnsubscribe: drop,
          initialResourceVersions: held,
          responseNonce: nonce,
          ...(id !== undefined && { node: node(id) }),
          ...(error !== undefined && { errorDetail: error }),
        })
        expect(decodeDeltaRequest(toBinary(DeltaDiscoveryRequestSchema, message))).toEqual({
          typeUrl,
          subscribe: add,
          unsubscribe: drop,
          initialVersions: new Map(Object.entries(held)),
          responseNonce: nonce,
          ...(id !== undefined && { nodeId: id }),
          ...(error !== undefined && { errorDetail: error }),
        })
      }),
    )
  })

  it.each([
    ['/etc/osm/sds_key.pem', '/etc/osm/sds_key.pem'],
    ['sds_key.pem', undefined],
    ['/a\nb', undefined],
    [`/${'a'.repeat(4096)}`, undefined],
    [7, undefined],
  ])('say where a sidecar has its key: %j', (value, keyFile) => {
    const metadata = { other: { deep: [1] }, 'osm.private_key_file': value }
    const message = create(DeltaDiscoveryRequestSchema, { node: { ...node('id'), metadata } })
    expect(decodeDeltaRequest(toBinary(DeltaDiscoveryRequestSchema, message)).keyFile).toBe(keyFile)
  })

  it('that are cut off are refused, and any other bytes are read or refused', () => {
    const message = create(DeltaDiscoveryRequestSchema, { typeUrl: 'type', node: node('id') })
    const bytes = toBinary(DeltaDiscoveryRequestSchema, message)
    expect(() => decodeDeltaRequest(bytes.subarray(0, bytes.length - 1))).toThrow()
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
        for (const decode of [decodeDeltaRequest, decodeStateOfTheWorldRequest]) {
          try {
            expect(typeof decode(noise).typeUrl).toBe('string')
          } catch (error) {
            expect(error).toBeInstanceOf(Error)
          }
        }
      }),
      { numRuns: 2000 },
    )
  })
})
