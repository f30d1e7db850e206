import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'
import type { Part, PartHash, ProxyPolicy } from '@osm-ts/driver-api/policy'

import { namesOf } from './names.js'
import { PolicyReader, RegexTables } from './policy-reader.js'

const golden = new URL('../../../core/src/catalog/testdata/out/local-dns.json', import.meta.url)

describe('names that a sidecar answers', () => {
  it('are those of the policy, by addresses of IPv4; and it asks anybody else than itself', () => {
    // What the host makes of a mesh.
    const { proxies, parts } = JSON.parse(readFileSync(golden, 'utf8')) as {
      readonly proxies: Readonly<Record<string, ProxyPolicy['proxy']>>
      readonly parts: readonly { readonly hash: PartHash; readonly part: Part }[]
    }
    const proxy = proxies['shop/store-0']
    if (proxy === undefined) throw new Error('the mesh has no store')
    const withItself = parts.map(({ hash, part }) => ({
      hash,
      part:
        part.kind === 'dns' ? { ...part, upstreamServers: ['127.0.0.153', 'fd00::53', ...part.upstreamServers] } : part,
    }))
    const byHash = new Map<PartHash, Part>(withItself.map(({ hash, part }) => [hash, part]))
    const reader = new PolicyReader((hash) => {
      const part = byHash.get(hash)
      if (part === undefined) throw new Error(`there is no part ${hash}`)
      return part
    }, new RegexTables())
    expect(namesOf(proxy, reader)).toEqual({
      dns: {
        ttlSeconds: 30,
        records: [
          { name: 'data-0.data.stock.svc.cluster.local', addresses: ['10.0.0.2'] },
          { name: 'store.shop.svc.cluster.local', addresses: ['10.96.0.1'] },
        ],
        servers: ['[fd00::53]:53', '192.0.2.53:53'],
      },
    })
    const { dns, ...without } = proxy
    expect(dns).toBeDefined()
    expect(namesOf(without, reader)).toEqual({})
  })
})
