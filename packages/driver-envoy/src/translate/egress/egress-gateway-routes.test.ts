import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'
import type { ClientGateway, Part, PartOf, ProxyPolicy, UpstreamPart } from '@osm-ts/driver-api/policy'

import { pinPolicy } from '../../../test/pin-policy.js'
import { resourcesAsJson } from '../../../test/resources-as-json.js'
import { Translator } from '../translator.js'

const document = JSON.parse(
  readFileSync(new URL('../../testdata/in/egress-gateway.json', import.meta.url), 'utf8'),
) as ProxyPolicy

type Resources = ReturnType<typeof resourcesAsJson>

/** What becomes of the document with some of its parts changed. */
function translated(edit: (part: Part) => Part): Resources {
  const parts = Object.fromEntries(Object.entries(document.parts).map(([hash, part]) => [hash, edit(part)]))
  const pinned = pinPolicy({ ...document, parts })
  const lookup = (hash: keyof typeof pinned.parts): Part => {
    const part = pinned.parts[hash]
    if (part === undefined) throw new Error(`the document has no part ${hash}`)
    return part
  }
  return resourcesAsJson(new Translator().translate(pinned.proxy, lookup, 1))
}

function withGateways(edit: (gateway: ClientGateway) => ClientGateway): (part: Part) => Part {
  return (part) => (part.kind === 'clientRules' ? { ...part, gateways: part.gateways.map(edit) } : part)
}

/** Clusters that something is sent to, other than those of gateways. */
function usedClusters({ listener, route }: Resources): readonly string[] {
  const text = JSON.stringify([listener, route])
  const named = [...text.matchAll(/"(?:cluster|name)":"([^"]+)"/g)].map(([, name = '']) => name)
  return named.filter((name) => name.includes('|tunnel|') || /^(passthrough|[a-z*.]+\.com:|3306$|tls\|)/.test(name))
}

describe('destinations behind gateways', () => {
  it('are reached through tunnels alone', () => {
    const resources = translated((part) => part)
    const used = usedClusters(resources)
    expect(used.length).toBeGreaterThan(8)
    expect(used.filter((name) => !name.includes('|tunnel|'))).toEqual([])
    expect(used.filter((name) => resources.cluster[name] === undefined)).toEqual([])
  })

  it('are closed with gateways that are told of destinations in another way', () => {
    const { listener } = translated(withGateways((gateway) => ({ ...gateway, mode: 'socks5' })))
    const tunnels = Object.keys(listener).filter((name) => name.startsWith('tunnel|'))
    expect(tunnels).toEqual(['tunnel|none'])
    const text = JSON.stringify(listener[tunnels[0] ?? ''])
    expect(text).not.toContain('tunnelingConfig')
    expect(text).toContain('envoy.filters.network.rbac')
  })

  it('are closed if the gateway could not be told which of several is meant', () => {
    const other: UpstreamPart['discovery'] = { kind: 'dns', host: 'other.example', port: 80 }
    const isApi = (part: Part): part is PartOf<'egress'> =>
      part.kind === 'egress' && part.id === 'http|api.example.com:80'
    const resources = translated((part) => {
      if (part.kind === 'upstream' && part.id === 'other.example.com:80') return { ...part, discovery: other }
      if (!isApi(part)) return part
      const upstreams = ['api.example.com:80', 'other.example.com:80']
      const targets = upstreams.map((upstream) => ({ upstream, weight: 1 }))
      return { ...part, routes: part.routes.map((route) => ({ ...route, targets })) }
    })
    const { virtualHosts } = resources.route['rds-egress.80'] as unknown as {
      readonly virtualHosts: readonly { readonly domains: readonly string[]; readonly routes: readonly unknown[] }[]
    }
    const host = virtualHosts.find(({ domains }) => domains.includes('api.example.com'))
    expect(host?.routes).toEqual([expect.objectContaining({ directResponse: { status: 503 } })])
  })

  it('are told with brackets around IPv6 addresses', () => {
    const host: UpstreamPart['discovery'] = { kind: 'dns', host: 'fd00::1', port: 8443 }
    const { route } = translated((part) =>
      part.kind === 'upstream' && part.id === 'pay.example.com:8443' ? { ...part, discovery: host } : part,
    )
    expect(JSON.stringify(route['rds-egress.8443'])).toContain('"inlineString":"[fd00::1]:8443"')
  })
})
