import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { AnySchema } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from '@jest/globals'
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema,
} from '@osm-ts/envoy-api/envoy/service/discovery/v3/discovery_pb.js'
import fc from 'fast-check'

import { encodedResource } from '../../resources/encoded-resource.js'
import { NONCE_LENGTH } from './nonce-source.js'
import { PreparedResponses } from './prepared-responses.js'
import type { Push } from '../state/push.js'
import { frameResponse } from './response-frame.js'
import { aggregatedDiscovery } from './service-definitions.js'
import { pushOrder, typeUrls } from '../xds-types.js'

const resources = fc
  .array(
    fc.record({
      name: fc.string({ unit: 'grapheme', maxLength: 200 }),
      value: fc.uint8Array({ maxLength: 300, size: 'max' }),
    }),
    { maxLength: 5 },
  )
  .map((list) => list.map(({ name, value }) => encodedResource(name, value, [])))

const pushes: fc.Arbitrary<Push> = fc.record({
  type: fc.constantFrom(...pushOrder),
  nonce: fc.stringMatching(new RegExp(`^[0-9a-z]{${NONCE_LENGTH}}$`)),
  version: fc.constantFrom('', 'v1', 'v1~abcdefgh.1'),
  resources,
  removed: fc.array(fc.string({ unit: 'grapheme', maxLength: 200 }), { maxLength: 3 }),
  label: fc.constantFrom('', '~abcdefgh.1'),
})

const anyOf = (push: Push, value: Uint8Array) => create(AnySchema, { typeUrl: typeUrls[push.type], value })

describe('frames of responses', () => {
  it('are, in the state-of-the-world variant, the bytes that a protobuf library writes', () => {
    fc.assert(
      fc.property(pushes, (push) => {
        const message = create(DiscoveryResponseSchema, {
          versionInfo: push.version,
          resources: push.resources.map(({ value }) => anyOf(push, value)),
          typeUrl: typeUrls[push.type],
          nonce: push.nonce,
        })
        const expected = Buffer.from(toBinary(DiscoveryResponseSchema, message))
        expect(frameResponse('sotw', push).bytes.equals(expected)).toBe(true)
      }),
    )
  })

  it('are, in the delta variant, the bytes that a protobuf library writes', () => {
    fc.assert(
      fc.property(pushes, (push) => {
        const message = create(DeltaDiscoveryResponseSchema, {
          systemVersionInfo: push.version,
          resources: push.resources.map(({ name, version, value }) => ({
            name,
            version: version + push.label,
            resource: anyOf(push, value),
          })),
          typeUrl: typeUrls[push.type],
          nonce: push.nonce,
          removedResources: [...push.removed],
        })
        const expected = Buffer.from(toBinary(DeltaDiscoveryResponseSchema, message))
        expect(frameResponse('delta', push).bytes.equals(expected)).toBe(true)
      }),
    )
  })

  it('hold lengths of more than two bytes', () => {
    const value = new Uint8Array(3_000_000).fill(7)
    const push: Push = {
      type: 'route',
      nonce: 'n'.repeat(NONCE_LENGTH),
      version: 'v',
      resources: [encodedResource('r', value, [])],
      removed: [],
      label: '',
    }
    const message = fromBinary(DiscoveryResponseSchema, frameResponse('sotw', push).bytes)
    expect(message.resources[0]?.value.length).toBe(value.length)
    expect(message.nonce).toBe(push.nonce)
  })
})

describe('prepared responses', () => {
  const one = encodedResource('a', Buffer.from('1'), [])
  const push = (changes: Partial<Push> = {}): Push => ({
    type: 'cluster',
    nonce: 'first-----------1',
    version: 'v',
    resources: [one],
    removed: [],
    label: '',
    ...changes,
  })
  const serialize = aggregatedDiscovery.StreamAggregatedResources.responseSerialize

  it('are shared by streams that are sent the same, each under its own nonce', () => {
    const prepared = new PreparedResponses()
    const first = prepared.frame('sotw', push())
    const second = prepared.frame('sotw', push({ nonce: 'second----------2' }))
    expect(second).toBe(first)
    // grpc-js copies at once what it is given; so does this.
    const sent = ['first-----------1', 'second----------2'].map((nonce) =>
      Buffer.from(serialize({ frame: first, nonce })),
    )
    expect(sent.map((bytes) => fromBinary(DiscoveryResponseSchema, bytes).nonce)).toEqual([
      'first-----------1',
      'second----------2',
    ])
  })

  it.each([
    ['another resource of the same name and version', push({ resources: [{ ...one }] })],
    ['another version', push({ version: 'w' })],
    ['another type', push({ type: 'route' })],
    ['another label', push({ label: '~abcdefgh.1' })],
    ['a removal', push({ removed: ['b'] })],
    ['one resource more', push({ resources: [one, encodedResource('b', Buffer.from('1'), [])] })],
  ])('are not shared with %s', (_, other) => {
    const prepared = new PreparedResponses()
    const first = prepared.frame('delta', push())
    expect(prepared.frame('delta', other)).not.toBe(first)
  })

  it('are not shared with the other variant', () => {
    const prepared = new PreparedResponses()
    const first = prepared.frame('delta', push())
    expect(prepared.frame('sotw', push())).not.toBe(first)
    expect(prepared.frame('delta', push())).toBe(first)
  })

  it('never hold secrets', () => {
    const prepared = new PreparedResponses()
    const secret = push({ type: 'secret' })
    expect(prepared.frame('delta', secret)).not.toBe(prepared.frame('delta', secret))
    expect(prepared.bytes).toBe(0)
  })

  it('hold no more bytes than they may', () => {
    const prepared = new PreparedResponses(1000)
    for (let index = 0; index < 50; index += 1) {
      const value = Buffer.alloc(index * 10)
      prepared.frame('sotw', push({ version: String(index), resources: [encodedResource('a', value, [])] }))
      expect(prepared.bytes).toBeLessThanOrEqual(1000)
    }
    expect(prepared.bytes).toBeGreaterThan(0)
  })
})
