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

/** The scopes of a port, and the version of the listeners. */
function translated(retired: readonly OutboundPart[]) {
  const lookup = (hash: PartHash) => policy.parts[hash] ?? fail(hash)
  const resources = new Translator().translate(policy.proxy, lookup, 1, new Map(), retired)
  const scopes = resourcesAsJson(resources).scope as unknown as Readonly<Record<string, Scope>>
  return {
    listeners: resources.types.listener.version,
    validates: Object.values(scopes).map(({ routeConfiguration }) => routeConfiguration.validateClusters),
    scopes: new Map(
      Object.values(scopes).map(({ key, routeConfiguration: { name, virtualHosts } }) => [
        key.fragments.map(({ stringKey }) => stringKey).join(),
        [
          name,
          ...virtualHosts.map(({ typedPerFilterConfig = {} }) => 'osm.filters.http.closing' in typedPerFilterConfig),
        ],
      ]),
    ),
  }
}

interface Scope {
  readonly key: { readonly fragments: readonly { readonly stringKey: string }[] }
  readonly routeConfiguration: {
    readonly name: string
    readonly validateClusters?: boolean
    readonly virtualHosts: readonly { readonly typedPerFilterConfig?: object }[]
  }
}

function fail(hash: string): never {
  throw new Error(`the document has no part ${hash}`)
}

describe('routes of services that share a filter chain', () => {
  const service = called ?? fail('of the service')
  const [address = fail('with an address')] = service.addresses
  const routes = 'rds-outbound.14001|bookstore/bookstore'

  it('are scopes of the address and port that are dialled', () => {
    const { scopes } = translated([])
    expect(scopes.get(`${address}:14001`)).toEqual([routes, false])
    expect(scopes.size).toBeGreaterThan(1)
  })

  it('end connections to addresses that a service has no longer, and change no listener', () => {
    const gone = { ...service, addresses: ['FD00:0::9', ...service.addresses] }
    const { scopes, listeners } = translated([gone])
    expect(scopes).toEqual(new Map([...translated([]).scopes, ['[fd00::9]:14001', [routes, true]]]))
    expect(listeners).toBe(translated([]).listeners)
  })

  it('may name clusters that do not exist, which stand for errors', () => {
    for (const validates of translated([]).validates) expect(validates).toBe(false)
  })

  it('belong to the service that has an address now, whatever other had it before', () => {
    const other = { ...service, id: 'bookstore/aaa|14001', service: { namespace: 'bookstore', name: 'aaa' } }
    expect(translated([other])).toEqual(translated([]))
  })
})
