import { describe, expect, it } from '@jest/globals'

import type { OracleObject } from './objects.js'
import { Oracle } from './oracle.js'

const shop = (kind: string, name: string, spec: unknown): OracleObject => ({
  kind,
  metadata: { name, namespace: 'shop' },
  spec,
})
const config = (enableEgress: boolean, enableEgressPolicy = true): OracleObject =>
  shop('MeshConfig', 'm', { traffic: { enableEgress }, featureFlags: { enableEgressPolicy } })
const routes = shop('HTTPRouteGroup', 'routes', {
  matches: [
    { name: 'a', pathRegex: '/a' },
    { name: 'broken', pathRegex: '(' },
    { name: 'never', headers: [{ 'a b': '.*' }] },
  ],
})
const group = (name: string) => ({ apiGroup: 'specs.smi-spec.io/v1alpha4', kind: 'HTTPRouteGroup', name })
const egress = (name: string, hosts: readonly string[], matches: readonly unknown[] = []): OracleObject =>
  shop('Egress', name, {
    sources: [{ kind: 'ServiceAccount', name: 'client', namespace: 'shop' }],
    hosts,
    ports: [{ number: 80, protocol: 'http' }],
    matches,
  })

function ask(
  objects: readonly OracleObject[],
  { from = 'client', host = 'www.example.com', port = 80, target = '/a?q', method = 'GET' } = {},
): string {
  const request = { method, target, headers: {} }
  return new Oracle(objects).decideEgress({
    from: { namespace: 'shop', name: from },
    protocol: 'http',
    host,
    port,
    request,
  }).outcome
}

describe('the oracle on Egress', () => {
  const named = [egress('e', ['WWW.example.com', '*.below.test'])]

  it.each([
    ['a host that is named', {}, 'allow'],
    ['a host in other letters', { host: 'www.EXAMPLE.com' }, 'allow'],
    ['a host with a dot at the end', { host: 'www.example.com.' }, 'allow'],
    ['another host', { host: 'example.com' }, 'deny'],
    ['a name below a domain', { host: 'a.b.below.test' }, 'allow'],
    ['the domain itself', { host: 'below.test' }, 'deny'],
    ['another port', { port: 81 }, 'deny'],
    ['another caller', { from: 'thief' }, 'deny'],
  ])('answers for %s', (_what, question, outcome) => {
    expect(ask(named, question)).toBe(outcome)
  })

  it('is limited by route groups, and widened by no reference that leads nowhere', () => {
    const limited = [routes, egress('e', ['www.example.com'], [group('routes')])]
    expect(ask(limited)).toBe('allow')
    expect(ask(limited, { target: '/b' })).toBe('deny')
    expect(ask([routes, egress('e', ['www.example.com'], [group('none')])])).toBe('deny')
    expect(ask([routes, egress('e', ['*'], [group('none'), group('routes')])], { target: '/b' })).toBe('deny')
  })

  it('adds up the objects for one host, and looks at the closest host alone', () => {
    const both = [routes, egress('e', ['www.example.com'], [group('routes')]), egress('f', ['www.example.com'])]
    expect(ask(both, { target: '/b' })).toBe('allow')
    const wider = [routes, egress('e', ['www.example.com'], [group('routes')]), egress('f', ['*.example.com', '*'])]
    expect(ask(wider, { target: '/b' })).toBe('deny')
    expect(ask(wider, { target: '/b', host: 'api.example.com' })).toBe('allow')
    // What opens nothing is in the way of nothing.
    expect(ask([egress('e', ['www.example.com'], [group('none')]), egress('f', ['*'])])).toBe('allow')
  })

  it('lets everything out with global egress but what a host that is named limits', () => {
    const limited = [config(true), routes, egress('e', ['www.example.com'], [group('routes')])]
    expect(ask(limited, { target: '/b' })).toBe('deny')
    expect(ask(limited, { target: '/b', port: 81 })).toBe('allow')
    expect(ask([config(true), routes, egress('e', ['*'], [group('routes')])], { target: '/b' })).toBe('allow')
  })

  it('has no effect where the feature is off', () => {
    expect(ask([config(false, false), ...named])).toBe('deny')
    expect(ask([config(false), ...named])).toBe('allow')
  })
})

describe('the oracle on server names and addresses', () => {
  const open = (spec: object): OracleObject =>
    shop('Egress', 'e', { sources: [{ kind: 'ServiceAccount', name: 'client', namespace: 'shop' }], ...spec })
  const tls = (host: string, objects: readonly OracleObject[], port = 443): string =>
    decide(objects, { protocol: 'https', host, port })
  const tcp = (host: string, objects: readonly OracleObject[], port = 9000): string =>
    decide(objects, { protocol: 'tcp', host, port })
  const https = open({
    hosts: ['pay.example.com', '*.below.test', '10.0.0.1'],
    ports: [{ number: 443, protocol: 'https' }],
  })
  const ranges = open({ ipAddresses: ['10.1.0.0/16', '2001:db8::/32'], ports: [{ number: 9000, protocol: 'tcp' }] })
  const everywhere = open({ ports: [{ number: 9000, protocol: 'tcp' }] })

  function decide(
    objects: readonly OracleObject[],
    question: { protocol: 'https' | 'tcp'; host: string; port: number },
  ): string {
    return new Oracle(objects).decideEgress({ from: { namespace: 'shop', name: 'client' }, ...question }).outcome
  }

  it.each([
    ['pay.example.com', 443, 'allow'],
    ['PAY.example.com', 443, 'allow'],
    ['a.below.test', 443, 'allow'],
    ['below.test', 443, 'deny'],
    ['example.com', 443, 'deny'],
    ['pay.example.com', 8443, 'deny'],
    // No server is requested by an address.
    ['10.0.0.1', 443, 'deny'],
  ])('answers for TLS with the server name %s on port %i', (host, port, outcome) => {
    expect(tls(host, [https], port)).toBe(outcome)
  })

  it('takes https without hosts for connections to the ranges', () => {
    const byAddress = open({ ipAddresses: ['10.1.0.0/16'], ports: [{ number: 443, protocol: 'https' }] })
    expect(tcp('10.1.2.3', [byAddress], 443)).toBe('allow')
    expect(tcp('10.2.0.1', [byAddress], 443)).toBe('deny')
  })

  it.each([
    ['10.1.2.3', 'allow'],
    ['10.2.0.1', 'deny'],
    ['2001:db8::1', 'allow'],
    ['2001:db9::1', 'deny'],
    ['www.example.com', 'deny'],
  ])('answers for a connection to %s', (host, outcome) => {
    expect(tcp(host, [ranges])).toBe(outcome)
  })

  it('opens a port without hosts and ranges to everything, and one with hosts alone to nothing', () => {
    expect(tcp('10.9.9.9', [everywhere])).toBe('allow')
    expect(tls('www.example.com', [everywhere], 9000)).toBe('allow')
    expect(tcp('10.9.9.9', [open({ hosts: ['a.test'], ports: [{ number: 9000, protocol: 'tcp' }] })])).toBe('deny')
  })

  it('leaves ports to hosts where requests are told by them, but for ranges', () => {
    const read = shop('Egress', 'read', {
      sources: [{ kind: 'ServiceAccount', name: 'client', namespace: 'shop' }],
      hosts: ['a.test'],
      ports: [{ number: 9000, protocol: 'http' }],
    })
    expect(tcp('10.9.9.9', [everywhere, read])).toBe('deny')
    expect(tcp('10.9.9.9', [config(true), read])).toBe('deny')
    expect(tcp('10.1.2.3', [ranges, read])).toBe('allow')
    expect(tcp('10.9.9.9', [config(true)])).toBe('allow')
  })

  it('keeps TLS from ports where servers speak first', () => {
    const mixed = open({
      hosts: ['pay.example.com'],
      ipAddresses: ['10.0.0.0/8'],
      ports: [
        { number: 443, protocol: 'https' },
        { number: 443, protocol: 'TCP-server-first' },
      ],
    })
    expect(tls('pay.example.com', [mixed])).toBe('deny')
    expect(tcp('10.0.0.1', [mixed], 443)).toBe('allow')
    const service = shop('Service', 'db', {
      selector: { app: 'db' },
      ports: [{ name: 'tcp-server-first-db', port: 443 }],
    })
    expect(tls('pay.example.com', [https, service])).toBe('deny')
  })

  it('leaves names and addresses of services to the mesh', () => {
    const selector = { app: 'store' }
    const service = shop('Service', 'store', { selector, clusterIP: '10.1.0.1', ports: [{ port: 9000 }] })
    const single = open({ ipAddresses: ['10.1.0.1/32'], ports: [{ number: 9000, protocol: 'tcp' }] })
    expect(tcp('10.1.0.1', [single])).toBe('allow')
    expect(tcp('10.1.0.1', [single, service])).toBe('deny')
    for (const host of ['store', 'store.shop', 'store.shop.svc', 'store.shop.svc.cluster.local.'])
      expect(ask([egress('e', [host]), service], { host })).toBe('deny')
    expect(ask([egress('e', ['store.shop'])], { host: 'store.shop' })).toBe('allow')
    expect(ask([egress('e', ['*.svc.cluster.local'])], { host: 'a.b.svc.cluster.local' })).toBe('deny')
    const below = egress('e', ['*.shop.svc.cluster.local'])
    expect(ask([below], { host: 'a.shop.svc.cluster.local' })).toBe('allow')
    expect(ask([below, service], { host: 'a.shop.svc.cluster.local' })).toBe('deny')
  })

  it('opens names and addresses of Services that the mesh does not serve', () => {
    const outside = shop('Service', 'legacy', { clusterIP: '10.1.0.9', ports: [{ port: 9000 }, { port: 80 }] })
    const single = open({ ipAddresses: ['10.1.0.9/32'], ports: [{ number: 9000, protocol: 'tcp' }] })
    const named = egress('e', ['legacy.shop'])
    expect(tcp('10.1.0.9', [single, outside])).toBe('allow')
    expect(ask([named, outside], { host: 'legacy.shop' })).toBe('allow')
    const split = shop('TrafficSplit', 's', { service: 'legacy', backends: [] })
    expect(tcp('10.1.0.9', [single, outside, split])).toBe('deny')
    const imported = shop('ServiceImport', 'legacy', {})
    expect(ask([named, outside, imported], { host: 'legacy.shop' })).toBe('deny')
  })

  it('speaks TLS to hosts that are named in full alone, and never without the certificate', () => {
    const originating = (name: string, hosts: readonly string[], mtls: object): OracleObject =>
      shop('Egress', name, {
        sources: [{ kind: 'ServiceAccount', name: 'client', namespace: 'shop', mtls }],
        hosts,
        ports: [{ number: 80, protocol: 'http' }],
      })
    const own = originating('e', ['www.example.com', '*.example.com'], { issuer: 'osm' })
    expect(ask([own])).toBe('allow')
    expect(ask([own], { host: 'api.example.com' })).toBe('deny')
    const secret = (namespace: string) => ({ issuer: 'other', cert: { secret: { name: 's', namespace } } })
    expect(ask([originating('e', ['www.example.com'], secret('shop'))])).toBe('allow')
    expect(ask([originating('e', ['www.example.com'], secret('other'))])).toBe('deny')
    // Of two ways to one host the first by name holds, with its own matches.
    const limited = egress('f', ['www.example.com'])
    expect(ask([originating('e', ['www.example.com'], secret('other')), limited])).toBe('deny')
    expect(ask([egress('a', ['www.example.com']), originating('e', ['www.example.com'], secret('other'))])).toBe(
      'allow',
    )
  })

  it('says by what it is let out', () => {
    const limited = egress('e', ['a.test', 'www.example.com'], [group('routes')])
    const from = { namespace: 'shop', name: 'client' }
    const request = { method: 'GET', target: '/a', headers: {} }
    const question = { from, protocol: 'http', host: 'www.example.com', port: 80, request } as const
    expect(new Oracle([routes, limited]).decideEgress(question).by).toEqual([
      { kind: 'Egress', namespace: 'shop', name: 'e', field: 'spec.hosts[1]' },
      { kind: 'HTTPRouteGroup', namespace: 'shop', name: 'routes', field: 'spec.matches[0]' },
    ])
  })
})
