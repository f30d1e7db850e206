import { fromBinary } from '@bufbuild/protobuf'
import { describe, expect, it } from '@jest/globals'
import { VirtualHostSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'
import { RouteConfigurationSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_pb.js'
import fc from 'fast-check'

import { appendTo, duration, encode, extend } from './encode.js'

describe('appendTo', () => {
  it('gives the message that would have been encoded at once', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (hosts) => {
        const virtualHosts = hosts.map((name) => ({ name, domains: [name] }))
        const parts = virtualHosts.map((host) => encode(VirtualHostSchema, host))
        const base = encode(RouteConfigurationSchema, { name: 'routes' })
        expect(
          fromBinary(RouteConfigurationSchema, appendTo(RouteConfigurationSchema, base, 'virtualHosts', parts)),
        ).toEqual(
          fromBinary(RouteConfigurationSchema, encode(RouteConfigurationSchema, { name: 'routes', virtualHosts })),
        )
      }),
    )
  })

  it('refuses a field that holds no messages', () => {
    expect(() => appendTo(RouteConfigurationSchema, new Uint8Array(), 'name', [])).toThrow(TypeError)
  })
})

describe('extend', () => {
  it('adds fields to what is encoded already', () => {
    const host = encode(VirtualHostSchema, { name: 'a', domains: ['a'] })
    const extended = fromBinary(VirtualHostSchema, extend(VirtualHostSchema, host, { retryPolicy: { retryOn: '5xx' } }))
    expect(extended).toMatchObject({ name: 'a', domains: ['a'], retryPolicy: { retryOn: '5xx' } })
  })
})

describe('duration', () => {
  it('counts milliseconds', () => {
    expect(duration(1_250)).toMatchObject({ seconds: 1n, nanos: 250_000_000 })
    expect(duration(0)).toMatchObject({ seconds: 0n, nanos: 0 })
  })
})
