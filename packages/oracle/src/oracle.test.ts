import { describe, expect, it } from '@jest/globals'

import type { OracleObject } from './objects.js'
import { Oracle, type Verdict } from './oracle.js'

const shop = (kind: string, name: string, spec: unknown, labels = {}): OracleObject => ({
  kind,
  metadata: { name, namespace: 'shop', labels },
  spec,
})
const server = (name: string, labels = {}): readonly OracleObject[] => [
  shop('Workload', name, { serviceAccountName: name, ports: [{ name: 'web', port: 8080 }] }, { app: name, ...labels }),
  shop('Service', name, {
    selector: { app: name },
    ports: [
      { name: 'web', port: 80, targetPort: 'web' },
      { name: 'tcp-raw', port: 90, targetPort: 9090 },
    ],
  }),
]
const allow = (name: string, destination: string, rules: readonly unknown[], sources = ['client']): OracleObject =>
  shop('TrafficTarget', name, {
    destination: { kind: 'ServiceAccount', name: destination, namespace: 'shop' },
    sources: sources.map((source) => ({ kind: 'ServiceAccount', name: source, namespace: 'shop' })),
    rules,
  })
const group = (name: string, matches: readonly unknown[]): OracleObject => shop('HTTPRouteGroup', name, { matches })
const http = (name: string, matches?: readonly string[]) => ({ kind: 'HTTPRouteGroup', name, matches })
const tcp = (name: string) => ({ kind: 'TCPRoute', name })

function ask(
  objects: readonly OracleObject[],
  { from = 'client', to = 'store', port = 80, target = '/a', method = 'GET', headers = {} } = {},
): Verdict {
  return new Oracle(objects).decide({
    from: { namespace: 'shop', name: from },
    to: { namespace: 'shop', name: to },
    port,
    ...(port === 90 ? {} : { request: { method, target, headers } }),
  })
}

describe('the oracle on TrafficTargets', () => {
  const objects = [
    ...server('store'),
    group('routes', [
      { name: 'read', pathRegex: '/a(/.*)?', methods: ['GET'] },
      { name: 'admin', pathRegex: '/admin', headers: [{ 'X-User': 'ro+t' }] },
      { name: 'broken', pathRegex: '(' },
    ]),
    allow('reading', 'store', [http('routes', ['read', 'admin', 'broken'])]),
  ]

  it.each([
    ['what a match is about', {}, 'allow'],
    ['another method', { method: 'POST' }, 'deny'],
    ['a path that is matched in part only', { target: '/ab' }, 'deny'],
    ['a path in other letters', { target: '/A' }, 'deny'],
    ['runs of slashes', { target: '//a///b?x' }, 'allow'],
    ['a header in other letters', { target: '/admin', headers: { 'x-USER': 'root' } }, 'allow'],
    ['a header value that is matched in part only', { target: '/admin', headers: { 'x-user': 'rooted' } }, 'deny'],
    ['a missing header', { target: '/admin' }, 'deny'],
    ['another caller', { from: 'thief' }, 'deny'],
    ['a path that can be read in two ways', { target: '/a/%2e%2e/b' }, 'refuse'],
    ['a port that does not speak HTTP', { port: 90 }, 'deny'],
    ['a port that is not there', { port: 81 }, 'nowhere'],
    ['a service that is not there', { to: 'stor' }, 'nowhere'],
  ])('answers for %s', (_what, question, outcome) => {
    expect(ask(objects, question).outcome).toBe(outcome)
  })

  it('knows which headers sidecars take away before rules look, and which before the workload does', () => {
    const named = [
      ...server('store'),
      group('routes', [
        { name: 'role', pathRegex: '/role', headers: [{ 'X-Role': 'reader' }, { x_app_id: 'shop' }] },
        { name: 'claim', pathRegex: '/claim', headers: [{ serviceidentity: 'admin' }] },
        { name: 'cert', pathRegex: '/cert', headers: [{ x_forwarded_client_cert: '.*' }] },
        { name: 'retry', pathRegex: '/retry', headers: [{ 'x-envoy-retry-on': '5xx' }] },
      ]),
      allow('reading', 'store', [http('routes')]),
    ]
    const meets = { 'x-role': 'reader', x_app_id: 'shop' }
    expect(ask(named, { target: '/claim', headers: { serviceidentity: 'admin' } }).outcome).toBe('deny')
    expect(ask(named, { target: '/cert', headers: { x_forwarded_client_cert: 'x' } }).outcome).toBe('deny')
    expect(ask(named, { target: '/retry', headers: { 'X-Envoy-Retry-On': '5xx' } }).outcome).toBe('deny')
    expect(ask(named, { target: '/role', headers: { x_role: 'reader', x_app_id: 'shop' } }).outcome).toBe('deny')
    const sent = {
      ...meets,
      X_Role: 'admin',
      'x-app-id': 'other',
      x_trace: '1',
      'X_Forwarded-Client_Cert': 'admin',
      X_Envoy_A: '1',
    }
    const removed = (objects: readonly OracleObject[]) =>
      ask(objects, { target: '/role', headers: sent }).destinations[0]?.removedHeaders
    expect(removed(named)).toEqual(['x_role', 'x-app-id', 'x_forwarded-client_cert', 'x_envoy_a'])
    const keeps = shop('MeshConfig', 'config', { traffic: { keepUnderscoreHeaders: true } })
    expect(removed([...named, keeps])).toEqual(['x_forwarded-client_cert', 'x_envoy_a'])
  })

  it('lets in an escaped slash where it is kept and the rule allows every reading of the path', () => {
    const rules = [
      ...server('store'),
      group('routes', [
        { name: 'below', pathRegex: '/open(/.*)?' },
        { name: 'one', pathRegex: '/one/[^/]+' },
        { name: 'text', pathRegex: '/text/a%2Fb' },
      ]),
      allow('reading', 'store', [http('routes')]),
    ]
    const kept = [...rules, shop('MeshConfig', 'config', { traffic: { escapedSlashes: 'Keep' } })]
    const outcomes = (target: string) => [ask(rules, { target }).outcome, ask(kept, { target }).outcome]
    expect(outcomes('/open/a%2Fb')).toEqual(['refuse', 'allow'])
    expect(outcomes('/one/a%2Fb')).toEqual(['refuse', 'deny'])
    expect(outcomes('/one/a%20b')).toEqual(['allow', 'allow'])
    expect(outcomes('/text/a%2Fb')).toEqual(['refuse', 'allow'])
    expect(outcomes('/text/a%2fb')).toEqual(['refuse', 'deny'])
    expect(outcomes('/open%2Fa')).toEqual(['refuse', 'deny'])
    expect(outcomes('/open/..%2Fone')).toEqual(['refuse', 'refuse'])
  })

  it('takes no matches for all, and a missing group for none', () => {
    const add = (rule: unknown) => [...objects.slice(0, -1), allow('all', 'store', [rule])]
    expect(ask(add(http('routes'))).outcome).toBe('allow')
    expect(ask(add(http('routes', []))).outcome).toBe('allow')
    expect(ask(add(http('others'))).outcome).toBe('deny')
    expect(ask(add({ kind: 'UDPRoute', name: 'routes' })).outcome).toBe('deny')
  })

  it('reads TCPRoutes as ports and HTTPRouteGroups as requests', () => {
    const routes = [shop('TCPRoute', 'web', { matches: { ports: [8080] } }), shop('TCPRoute', 'any', {})]
    const add = (...rules: readonly unknown[]) => [...objects.slice(0, -1), ...routes, allow('all', 'store', rules)]
    expect(ask(add(tcp('web')), { target: '/other' }).outcome).toBe('allow')
    expect(ask(add(tcp('web')), { port: 90 }).outcome).toBe('deny')
    expect(ask(add(tcp('any')), { port: 90 }).outcome).toBe('allow')
    expect(ask(add(tcp('web'), http('routes'))).outcome).toBe('allow')
    expect(ask(add(tcp('web'), http('routes')), { target: '/other' }).outcome).toBe('deny')
    expect(ask(add(tcp('missing'), http('routes'))).outcome).toBe('deny')
  })

  it('ignores TrafficTargets away from their destination', () => {
    const target = allow('reading', 'store', [http('routes')])
    const away = { ...target, metadata: { name: 'reading', namespace: 'street' } }
    expect(ask([...objects.slice(0, -1), away]).outcome).toBe('deny')
  })

  it('opens everything in permissive mode, except to accounts that cannot have a certificate', () => {
    const open = [...objects, shop('MeshConfig', 'm', { traffic: { enablePermissiveTrafficPolicyMode: true } })]
    expect(ask(open, { from: 'thief', method: 'DELETE', target: '/x' }).outcome).toBe('allow')
    expect(ask(open, { from: 'thief', target: '/..' }).outcome).toBe('refuse')
    const clerk = { namespace: 'svc', name: 'clerk.desk' }
    expect(new Oracle(open).decide({ from: clerk, to: { namespace: 'shop', name: 'store' }, port: 90 }).outcome).toBe(
      'nowhere',
    )
  })
})

describe('the oracle on TrafficSplits', () => {
  const split = (name: string, backends: Readonly<Record<string, number>>, matches: readonly unknown[] = []) =>
    shop('TrafficSplit', name, {
      service: 'store.shop',
      backends: Object.entries(backends).map(([service, weight]) => ({ service, weight })),
      matches,
    })
  const objects = [
    ...server('store'),
    ...server('v1'),
    ...server('v2'),
    group('routes', [{ name: 'a', pathRegex: '/a' }]),
    allow('v1', 'v1', [http('routes')]),
  ]
  const accounts = (verdict: Verdict) => verdict.destinations.map(({ account }) => account.name)

  it('names every backend that gets something', () => {
    const verdict = ask([...objects, split('s', { v1: 1, v2: 1, store: 0 })])
    expect(accounts(verdict)).toEqual(['v1', 'v2'])
    expect(verdict.outcome).toBe('depends')
    expect(ask([...objects, split('s', { v1: 1, v2: 0 })]).outcome).toBe('allow')
    expect(ask([...objects, split('s', { v1: 0 })]).outcome).toBe('nowhere')
  })

  it('follows splits with matches first, and leaves void ones out', () => {
    const matched = split('z', { v2: 1 }, [{ kind: 'HTTPRouteGroup', name: 'routes' }])
    expect(accounts(ask([...objects, split('a', { v1: 1 }), matched]))).toEqual(['v2'])
    expect(accounts(ask([...objects, split('a', { v1: 1 }), matched], { target: '/b' }))).toEqual(['v1'])
    expect(accounts(ask([...objects, split('a', { v1: 1 }), matched], { port: 90 }))).toEqual(['v1'])
    expect(accounts(ask([...objects, split('a', { none: 1 })]))).toEqual(['store'])
  })

  it('sends nothing to workloads without a sidecar, unless the configuration allows plaintext', () => {
    const service = shop('Service', 'store', { selector: { app: 'store' }, ports: [{ port: 80 }] })
    const workload = (name: string, sidecar: boolean) =>
      shop('Workload', name, { serviceAccountName: name, sidecar, address: '192.0.2.1' }, { app: 'store' })
    const config = (traffic: object): OracleObject => shop('MeshConfig', 'config', { traffic })
    const permissive = config({ enablePermissiveTrafficPolicyMode: true })
    const plaintext = config({ enablePermissiveTrafficPolicyMode: true, plaintextNamespaces: ['shop'] })
    const bare = workload('bare', false)
    expect(ask([service, bare, permissive]).outcome).toBe('nowhere')
    expect(ask([service, bare, plaintext]).outcome).toBe('allow')
    expect(ask([service, bare, config({ plaintextNamespaces: ['*'] })]).outcome).toBe('nowhere')
    const mixed = ask([service, bare, workload('meshed', true), permissive])
    expect(mixed.destinations.map(({ account }) => account.name)).toEqual(['meshed'])
    expect(ask([service, bare, workload('meshed', true), plaintext]).destinations).toHaveLength(2)
  })

  it('knows no Service that selects nothing and that nothing is behind', () => {
    const outside = shop('Service', 'store', { ports: [{ port: 80 }] })
    expect(ask([outside]).reason).toBe('Service shop/store is outside the mesh')
  })
})
