import { describe, expect, it } from '@jest/globals'
import { ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import { ListenerSchema } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_pb.js'

import { encode } from './encode.js'
import { FragmentCache } from './fragments.js'

describe('fragments', () => {
  it('are built once for settings, a message and a name', () => {
    const cache = new FragmentCache()
    let built = 0
    const fieldsOf = (settings: string, name: string) =>
      cache.get(settings).fields(ClusterSchema, name, () => ({ altStatName: `${settings} ${name} ${(built += 1)}` }))
    expect(fieldsOf('a', 'x')).toEqual({ altStatName: 'a x 1' })
    expect(fieldsOf('a', 'x')).toBe(fieldsOf('a', 'x'))
    expect(fieldsOf('b', 'x')).toEqual({ altStatName: 'b x 2' })
    expect(fieldsOf('a', 'y')).toEqual({ altStatName: 'a y 3' })
    expect(cache.get('a').fields(ListenerSchema, 'x', () => ({ statPrefix: 'listener' }))).toEqual({
      statPrefix: 'listener',
    })
  })

  it('give the same bytes as the fields that they are made of', () => {
    const fields = {
      connectTimeout: { seconds: 5n },
      name: 'cluster',
      metadata: { filterMetadata: { mesh: { a: 1 } } },
    }
    const shared = new FragmentCache().get('settings').fields(ClusterSchema, 'all', () => fields)
    expect(encode(ClusterSchema, { ...shared, name: 'other' })).toEqual(
      encode(ClusterSchema, { ...fields, name: 'other' }),
    )
  })

  it('are kept for few settings', () => {
    const cache = new FragmentCache()
    const first = cache.get('settings 0')
    expect(cache.get('settings 0')).toBe(first)
    for (let n = 1; n < 100; n += 1) cache.get(`settings ${n}`)
    expect(cache.get('settings 0')).not.toBe(first)
  })
})
