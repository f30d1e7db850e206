import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'

import { MeshFixture, objectsOf } from '../../../test/catalog/mesh-fixture.js'
import type { AccessQuestion } from './access-decision.js'

function mesh(scenario: string): MeshFixture {
  const fixture = new MeshFixture()
  const file = `${scenario}.yaml`
  fixture.apply(objectsOf(readFileSync(new URL(`../testdata/in/${file}`, import.meta.url), 'utf8'), file))
  return fixture
}

const account = (text: string) => {
  const [namespace = '', name = ''] = text.split('/')
  return { namespace, name }
}

function ask(fixture: MeshFixture, from: string, to: string, more: Omit<AccessQuestion, 'from' | 'to'> = {}) {
  return fixture.catalog.decisions.access({ from: account(from), to: account(to), ...more })
}

describe('decide on requests', () => {
  const shop = mesh('traffic-target')

  it('names the rule that lets a request in, where it is written down, and the match', () => {
    const decision = ask(shop, 'shop/buyer', 'shop/store', { path: '/books/7?page=2', method: 'get' })
    expect(decision.allowed).toBe(true)
    expect(decision.rule).toEqual({
      object: { kind: 'TrafficTarget', namespace: 'shop', name: 'buyer-buys' },
      origin: expect.objectContaining({ kind: 'file', file: 'traffic-target.yaml' }),
      field: 'spec.rules[0]',
      match: 'books',
    })
    expect(decision.reason).toBe('TrafficTarget shop/buyer-buys allows it by spec.rules[0], match books')
  })

  it('takes an empty list of matches for all of them', () => {
    expect(ask(shop, 'street/watcher', 'shop/store', { path: '/books' }).rule?.match).toBe('other-name')
  })

  it('says of a denial what comes nearest to allowing it', () => {
    const decision = ask(shop, 'shop/buyer', 'shop/store', { path: '/buy', method: 'POST' })
    expect(decision.allowed).toBe(false)
    expect(decision.reason).toBe(
      'workloads of shop/store behind Service shop/store refuse it: ' +
        'TrafficTarget shop/buyer-buys, spec.rules[0]: match buy: header client-app must match buyer',
    )
    expect(decision.decisions[0]?.reasons[1]).toContain(
      'match books: the path must match /books(/.*)?, the method must be GET or HEAD',
    )
  })

  it('looks at headers without regard to the case of their names', () => {
    const headers = { 'Client-App': 'buyer' }
    expect(ask(shop, 'shop/buyer', 'shop/store', { path: '/buy', method: 'POST', headers }).allowed).toBe(true)
    expect(ask(shop, 'shop/buyer', 'shop/store', { path: '/buy', headers: { 'client-app': 'buyers' } }).allowed).toBe(
      false,
    )
  })

  it('does not let in whom no TrafficTarget names', () => {
    const decision = ask(shop, 'street/thief', 'shop/store', { path: '/books' })
    expect(decision.allowed).toBe(false)
    expect(decision.decisions[0]?.reasons).toEqual([
      'TrafficTarget shop/buyer-buys does not name street/thief as a source',
      'TrafficTarget shop/watcher-reads does not name street/thief as a source',
    ])
  })

  it('denies what sidecars answer 400', () => {
    expect(ask(shop, 'shop/buyer', 'shop/store', { path: '/books/../buy' }).reason).toBe(
      'the request is answered 400: the path contains a dot segment',
    )
  })

  it('denies what has an escaped slash, and tells the setting', () => {
    expect(ask(shop, 'shop/buyer', 'shop/store', { path: '/books/a%2Fb' }).reason).toContain(
      'spec.traffic.escapedSlashes: Keep of the MeshConfig',
    )
  })

  it.each([
    ['shop/buyer', 'shop/stor', {}, 'there is no Service shop/stor in the mesh'],
    ['shop/buyer', 'shop/store', { port: 81 }, 'Service shop/store has no TCP port 81; it has 80'],
    ['svc/clerk.desk', 'shop/store', {}, 'the caller cannot have a certificate, so it is never allowed'],
  ])('answers a question about what is not there: %s to %s', (from, to, more, reason) => {
    expect(ask(shop, from, to, more)).toEqual({ allowed: false, reason, decisions: [] })
  })
})

describe('decide on connections', () => {
  const data = mesh('tcp-and-http')

  // The truth table of docs/design/policy-semantics.md.
  it.each([
    ['an HTTP rule opens its requests on an HTTP port', 'reader', 80, '/rows/1', true],
    ['an HTTP rule opens no other request', 'reader', 80, '/other', false],
    ['an HTTP rule opens its requests on a gRPC port', 'reader', 81, '/rows/1', true],
    ['an HTTP rule opens no TCP port', 'reader', 82, '/rows/1', false],
    ['an HTTP rule opens no port of passed-through TLS', 'reader', 84, '/rows/1', false],
    ['a TCP rule opens every request on an HTTP port', 'dumper', 80, '/other', true],
    ['a TCP rule with ports opens no other HTTP port', 'dumper', 81, '/other', false],
    ['a TCP rule opens a TCP port', 'dumper', 82, '/', true],
    ['a TCP rule opens a port where the server speaks first', 'dumper', 83, '/', true],
    ['a TCP rule with ports opens no other TCP port', 'dumper', 84, '/', false],
    ['a TCP rule without ports opens every port', 'data', 84, '/', true],
    ['side by side, an HTTP rule says which requests', 'data', 81, '/other', false],
    ['side by side, an HTTP rule says which requests, and allows them', 'data', 81, '/rows/1', true],
    ['side by side, a TCP rule says on which ports', 'checker', 80, '/rows/1', true],
    ['side by side, a TCP rule allows no request by itself', 'checker', 80, '/other', false],
    ['side by side, a TCP rule shuts the ports it does not list', 'checker', 81, '/rows/1', false],
    ['side by side, a TCP rule opens the TCP ports it lists', 'checker', 82, '/', true],
    ['side by side, a missing TCP rule shuts all ports', 'careless', 80, '/rows/1', false],
    ['TrafficTargets add up: every request on the listed port', 'dumper', 80, '/other', true],
    ['TrafficTargets add up: some requests on another', 'dumper', 85, '/rows/1', true],
    ['TrafficTargets add up, and no further', 'dumper', 85, '/other', false],
  ])('%s', (_, from, port, path, allowed) => {
    expect(ask(data, `shop/${from}`, 'shop/data', { port, path }).allowed).toBe(allowed)
  })

  it('says why an HTTP rule does not help', () => {
    expect(ask(data, 'shop/reader', 'shop/data', { port: 82 }).decisions[0]?.reasons[0]).toBe(
      'TrafficTarget shop/reader-reads, spec.rules[0]: an HTTPRouteGroup opens no port that does not speak HTTP; use a TCPRoute',
    )
  })

  it('names the rule but no match where the rule has none', () => {
    const { rule } = ask(data, 'shop/dumper', 'shop/data', { port: 82 })
    expect(rule).toMatchObject({ object: { name: 'dumper-connects' }, field: 'spec.rules[0]' })
    expect(rule).not.toHaveProperty('match')
  })
})

describe('decide on splits, accounts and modes', () => {
  it('answers for the backends that a request is split to', () => {
    const decision = ask(mesh('split-zero-weight'), 'default/bookbuyer', 'default/bookstore-apex', { port: 8888 })
    expect(decision.decisions.map(({ service }) => service.name)).toEqual(['bookstore-v2'])
    expect(decision.allowed).toBe(false)
    expect(decision.reason).toContain('no TrafficTarget names service account default/bookstore-v2')
  })

  it('follows the matches of splits', () => {
    const site = mesh('split-several')
    const backends = (more: Omit<AccessQuestion, 'from' | 'to'>) =>
      ask(site, 'street/visitor', 'shop/site', more).decisions.map(({ service }) => service.name)
    expect(backends({ path: '/preview/x' })).toEqual(['site-canary'])
    expect(backends({ headers: { 'X-Tester': '' } })).toEqual(['site-canary'])
    expect(backends({ path: '/' })).toEqual(['site-canary', 'site-stable'])
    expect(backends({ port: 9000 })).toEqual(['site-stable'])
    // No backend has the port, so the split does not concern it.
    expect(backends({ port: 9001 })).toEqual(['site'])
  })

  it('follows GRPCRoutes by the path of a call, and no HTTPRoute of the same port', () => {
    const library = mesh('grpc-route')
    const backends = (path: string, port = 7070) =>
      ask(library, 'street/reader', 'shop/books', { port, path, method: 'POST' }).decisions.map(
        ({ service }) => service.name,
      )
    expect(backends('/shop.Books/List')).toEqual(['books-next'])
    expect(backends('/shop.Bookshelf/List')).toEqual(['books-next'])
    expect(backends('/any.Health/Check')).toEqual(['stock', 'books-next', 'books'])
    expect(backends('/shop.Other/List')).toEqual(['books'])
    expect(backends('/', 80)).toEqual(['books'])
  })

  it('follows TCPRoutes, and says which share of connections is closed', () => {
    const shop = mesh('gateway-tcp-route')
    const decision = ask(shop, 'shop/client', 'shop/database', { port: 5432 })
    expect(decision.answer).toEqual({ status: 'closed', reason: 'a backend of the route cannot be used' })
    expect(decision.decisions.map(({ service, allowed }) => [service.name, allowed])).toEqual([
      ['archive', false],
      ['database-next', false],
      ['database', true],
    ])
    expect(decision.reason).toBe(
      'a share of the connections is closed by the sidecar of the caller: a backend of the route cannot be used',
    )
    const own = ask(shop, 'depot/guest', 'shop/database', { port: 5432 })
    expect(own.answer).toBeUndefined()
    expect(own.decisions.map(({ service }) => service.name)).toEqual(['archive', 'database'])
  })

  it('closes connections by a TCPRoute whose weights are all 0', () => {
    const fixture = new MeshFixture()
    const text = readFileSync(new URL('../testdata/in/gateway-tcp-route.yaml', import.meta.url), 'utf8')
    fixture.apply(objectsOf(text, 'mesh.yaml'))
    fixture.apply(
      objectsOf(
        `apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: { name: 0-none, namespace: shop, creationTimestamp: "2020-01-01T00:00:00Z" }
spec:
  parentRefs: [{ group: "", kind: Service, name: database, port: 5432 }]
  rules: [{ backendRefs: [{ name: database, port: 5432, weight: 0 }] }]
`,
        'none.yaml',
      ),
    )
    const decision = ask(fixture, 'shop/client', 'shop/database', { port: 5432 })
    expect(decision).toMatchObject({ allowed: false, decisions: [], answer: { status: 'closed' } })
  })

  it('follows TLSRoutes by the server name, and shows all backends without one', () => {
    const shop = mesh('tls-route')
    const backends = (serverName?: string) => {
      const more = serverName === undefined ? {} : { serverName }
      const { decisions, answer } = ask(shop, 'shop/client', 'shop/secured', { port: 443, ...more })
      return [decisions.map(({ service }) => service.name), answer?.reason]
    }
    const unusable = 'a backend of the route cannot be used'
    expect(backends('b.example')).toEqual([['first', 'second'], unusable])
    expect(backends('A.example')).toEqual([['first', 'second'], unusable])
    // The longest wildcard, then a shorter one.
    expect(backends('x.a.example')).toEqual([['first', 'second'], unusable])
    expect(backends('x.example')).toEqual([['second'], undefined])
    expect(backends('example')).toEqual([[], 'no TLSRoute of the port has the server name example'])
    expect(backends()).toEqual([
      ['first', 'second'],
      'connections go by their server name, and those of other names nowhere',
    ])
    // Elsewhere a server name makes no difference.
    const elsewhere = (more: object) => ask(shop, 'shop/client', 'shop/secured', { port: 5432, ...more })
    expect(elsewhere({ serverName: 'example' })).toEqual(elsewhere({}))
  })

  it('says so when the answer differs between accounts behind one service', () => {
    const decision = ask(mesh('several-services'), 'shop/guest', 'shop/front', { port: 80 })
    expect(decision.decisions.map(({ account: { name }, allowed }) => [name, allowed])).toEqual([
      ['guarded', false],
      ['web', true],
    ])
    expect(decision.allowed).toBe(false)
    expect(decision.reason).toContain('depends on where it ends up')
  })

  it('ignores TrafficTargets in another namespace than their destination, and says so', () => {
    const decision = ask(mesh('accounts'), 'street/thief', 'bank/vault')
    expect(decision.allowed).toBe(false)
    expect(
      decision.decisions[0]?.reasons.some((reason) => reason.startsWith('TrafficTarget bank/udp is ignored')),
    ).toBe(true)
    expect(ask(mesh('accounts'), 'bank/clerk.first', 'bank/vault').allowed).toBe(true)
  })

  it('allows everybody of the mesh in permissive mode, and no one else', () => {
    const open = mesh('permissive')
    expect(ask(open, 'bank/ledger', 'shop/store')).toMatchObject({
      allowed: true,
      reason: 'permissive mode is on: every workload of the mesh may call every service',
    })
    expect(ask(open, 'hidden/outside', 'shop/store').reason).toBe(
      'namespace hidden of the caller does not take part in the mesh',
    )
    expect(ask(open, 'shop/store', 'hidden/outside').reason).toBe('there is no Service hidden/outside in the mesh')
  })

  it('answers for a service without workloads', () => {
    expect(ask(mesh('split-several'), 'street/visitor', 'shop/site-next').reason).toBe(
      'no workload is behind Service shop/site-next',
    )
  })
})

describe('decide on HTTPRoutes', () => {
  const shop = mesh('http-route')
  const visit = (path: string, to = 'shop/site', port = 80) => ask(shop, 'street/visitor', to, { path, port })

  it('names what the sidecar of the caller answers to all requests of a rule', () => {
    const redirected = visit('/old/a', 'shop/site', 8080)
    expect(redirected).toMatchObject({ allowed: false, decisions: [], answer: { status: 301 } })
    expect(redirected.reason).toBe('the sidecar of the caller answers 301: the rule redirects requests')
    expect(visit('/filters', 'shop/site-next')).toMatchObject({ decisions: [], answer: { status: 500 } })
    expect(visit('/nothing', 'shop/site-next')).toMatchObject({
      reason: 'the sidecar of the caller answers 404: no rule matches the request',
      answer: { status: 404 },
    })
  })

  it('allows no request of which a share is answered with an error, and names the share', () => {
    const shared = visit('/share', 'shop/site-next')
    expect(shared).toMatchObject({ allowed: false, answer: { status: 500 } })
    expect(shared.decisions.map(({ account: { name }, allowed }) => [name, allowed])).toEqual([['site', true]])
    expect(shared.reason).toContain('a share of the requests is answered 500 by the sidecar of the caller')
    expect(visit('/idle', 'shop/site-next')).toMatchObject({ allowed: false, answer: { status: 503 } })
  })

  it('looks at the path that arrives, whatever was sent', () => {
    const rewritten = visit('/whole/../secret')
    expect(rewritten.decisions.map(({ account: { name } }) => name)).toEqual(['next'])
    expect(rewritten.reason).not.toContain('answered 400')
    expect(visit('/cart/../secret').reason).toContain('answered 400: the path contains a dot segment')
  })

  it('knows no answer of a service that the sidecar of the caller has no route to', () => {
    const decision = ask(shop, 'depot/stock', 'shop/site', { path: '/old', port: 8080 })
    expect(decision).toMatchObject({ allowed: false, decisions: [] })
    expect(decision).not.toHaveProperty('answer')
  })
})
