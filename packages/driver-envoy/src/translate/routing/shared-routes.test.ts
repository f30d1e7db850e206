import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import type { OutboundPart, PartHash, ProxyPolicy } from '@osm-ts/driver-api/policy'

import { resourcesAsJson } from '../../../test/resources-as-json.js'
import { Translator } from '../translator.js'

const policy = JSON.parse(
  readFileSync(new URL('../../testdata/in/permissive.json', import.meta.url), 'utf8'),
) as ProxyPolicy
const called = Object.values(policy.parts).find(
  (part): part is OutboundPart => part.kind === 'outbound' && part.id === 'bookstore/bookstore|14001',
)

/** The virtual hosts of the shard of that service, and the version of the listeners. */
function translated(retired: readonly OutboundPart[]) {
  const lookup = (hash: PartHash) => policy.parts[hash] ?? fail(hash)
  const resources = new Translator().translate(policy.proxy, lookup, 1, new Map(), retired)
  const { virtualHosts } = resourcesAsJson(resources).route['rds-outbound.14001|5'] as unknown as {
    readonly virtualHosts: readonly { readonly domains: readonly string[]; readonly typedPerFilterConfig?: object }[]
  }
  return {
    listeners: resources.types.listener.version,
    hosts: virtualHosts.map(({ domains, typedPerFilterConfig }) => [
      domains.join(),
      typedPerFilterConfig !== undefined && 'osm.filters.http.closing' in typedPerFilterConfig,
    ]),
  }
}

function fail(hash: string): never {
  throw new Error(`the document has no part ${hash}`)
}

describe('routes of services that share a filter chain', () => {
  const service = called ?? fail('of the service')
  const own = [service.addresses.join(), false]

  it('are those of addresses, and an answer for all others', () => {
    expect(translated([]).hosts).toEqual([own, ['*', false]])
  })

  it('end connections to addresses that a service has no longer, and change no listener', () => {
    const gone = { ...service, addresses: ['FD00:0::9', ...service.addresses] }
    const { hosts, listeners } = translated([gone])
    expect(hosts).toEqual([own, ['fd00::9', true], ['*', false]])
    expect(listeners).toBe(translated([]).listeners)
  })

  it('are not changed by retired services of other chains', () => {
    const elsewhere = { ...service, id: 'bookstore/other|80', port: 80 }
    expect(translated([elsewhere])).toEqual(translated([]))
  })
})
