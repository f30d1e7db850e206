import { fromBinary } from '@bufbuild/protobuf'
import { describe, expect, it } from '@jest/globals'
import type { EndpointsPart, Locality, PolicyEndpoint } from '@osm-ts/driver-api/policy'
import { ClusterLoadAssignmentSchema } from '@osm-ts/envoy-api/envoy/config/endpoint/v3/endpoint_pb.js'

import { loadAssignment } from './endpoints.js'

const place = (region: string, zone: string): Locality => ({ region, zone, subZone: '' })
const at = (address: string, locality: Locality, priority = 0): PolicyEndpoint => ({
  address,
  port: 80,
  weight: 100,
  priority,
  locality,
  cluster: '',
})

/** Addresses by Envoy's priority. */
function ranks(
  own: Locality,
  endpoints: readonly PolicyEndpoint[],
  preferClose = true,
): readonly (readonly string[])[] {
  const part: EndpointsPart = { kind: 'endpoints', id: 'a/b|80', ...(preferClose && { preferClose }), endpoints }
  const { endpoints: groups } = fromBinary(ClusterLoadAssignmentSchema, loadAssignment(part, own))
  const found: string[][] = []
  for (const { priority, lbEndpoints } of groups)
    for (const { hostIdentifier } of lbEndpoints) {
      const address = hostIdentifier.case === 'endpoint' ? hostIdentifier.value.address?.address : undefined
      if (address?.case === 'socketAddress') (found[priority] ??= []).push(address.value.address)
    }
  return found
}

const zones = [
  at('1', place('east', 'a')),
  at('2', place('east', 'b')),
  at('3', place('west', 'a')),
  at('4', place('', '')),
]

describe('endpoints of a service that prefers close ones', () => {
  it('come by zone, then by region, then all others', () => {
    expect(ranks(place('east', 'a'), zones)).toEqual([['1'], ['2'], ['4', '3']])
    expect(ranks(place('west', 'a'), zones)).toEqual([['3'], ['4', '1', '2']])
  })

  it('are alike to proxies that is unknown the place of, and leave out no priority', () => {
    expect(ranks(place('', ''), zones)).toEqual([['4', '1', '2', '3']])
    expect(ranks(place('north', 'z'), zones)).toEqual([['4', '1', '2', '3']])
  })

  it('have the zone alone where one side does not tell its region', () => {
    expect(ranks(place('', 'a'), zones)).toEqual([
      ['1', '3'],
      ['4', '2'],
    ])
  })

  it('keep the priorities of the policy before their own', () => {
    const endpoints = [at('1', place('east', 'b')), at('2', place('east', 'a'), 1), at('3', place('east', 'b'), 3)]
    expect(ranks(place('east', 'a'), endpoints)).toEqual([['1'], ['2'], ['3']])
  })

  it('are alike where the service prefers no one', () => {
    expect(ranks(place('east', 'a'), zones, false)).toEqual([['4', '1', '2', '3']])
  })
})
