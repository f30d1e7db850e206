import { describe, expect, it } from '@jest/globals'
import type { EndpointsUpdate } from '@osm-ts/driver-api'
import type { EndpointsPart } from '@osm-ts/driver-api/policy'

import { makePart } from '../catalog/policy/parts/policy-part.js'
import type { EndpointsChange } from '../catalog/store/endpoint-contents.js'
import { EndpointsFeed } from './endpoints-feed.js'

const frame = (id: string) => makePart<EndpointsPart>({ kind: 'endpoints', id, endpoints: [] }).hash

function change(id: string, address: string): EndpointsChange {
  const locality = { region: '', zone: '', subZone: '' }
  const endpoints = [{ address, port: 80, weight: 1, priority: 0, locality, cluster: '' }]
  return { frame: frame(id), after: makePart<EndpointsPart>({ kind: 'endpoints', id, endpoints }) }
}

const shown = ({ generation, parts }: EndpointsUpdate) => [
  generation,
  parts.map(({ hash, part }) => [hash, part.endpoints[0]?.address]),
]

describe('EndpointsFeed', () => {
  it('gives a slow reader the newest of each part, and none twice', async () => {
    const feed = new EndpointsFeed()
    const end = new AbortController()
    const updates = feed.watch(end.signal)
    const first = updates.next()
    feed.push([change('a', '10.0.0.1')])
    const { value } = await first
    expect(value && shown(value)).toEqual([1, [[frame('a'), '10.0.0.1']]])
    feed.push([change('a', '10.0.0.2'), change('b', '10.0.1.1')])
    feed.push([change('a', '10.0.0.3')])
    const next = await updates.next()
    expect(next.value && shown(next.value)).toEqual([
      3,
      [
        [frame('a'), '10.0.0.3'],
        [frame('b'), '10.0.1.1'],
      ],
    ])
    const last = updates.next()
    end.abort()
    expect((await last).done).toBe(true)
  })
})
