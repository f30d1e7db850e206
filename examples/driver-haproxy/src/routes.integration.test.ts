import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { OutboundRoute } from '@osm-ts/driver-api/policy'
import { called, callers, served } from '@osm-ts/driver-testkit'

import { ask, freePort, MeshFixture, SILENT, TELLS_HEADERS } from '../test/mesh.js'

const buyer = callers('buyer.default.cluster.local')
const shop = [{ upstream: 'default/shop|8080', weight: 1 }]
/** What is something else in haproxy.cfg, in its formats, or in its expressions. */
const nasty = `'; "x" $HOME \${A} \\ \\1 # %[path] %% %T é -i -- {x}`

const route = (path: string, more: Partial<OutboundRoute>): OutboundRoute => ({
  match: { path: { type: 'segments', value: path } },
  targets: more.redirect === undefined ? shop : [],
  timeoutMs: 0,
  ...more,
})
const query = (name: string, value: string, more: Partial<OutboundRoute>): OutboundRoute => ({
  match: { queryParameters: [{ name, match: { type: 'exact', value } }] },
  targets: shop,
  timeoutMs: 0,
  ...more,
})

const routes: readonly OutboundRoute[] = [
  query('animal', 'whale', { rewrite: { path: { type: 'full', value: '/whale' } } }),
  query('a.b', '', { rewrite: { path: { type: 'full', value: '/empty' } } }),
  query('quoted', `'"$%[path]\\1`, { rewrite: { path: { type: 'full', value: '/quoted' } } }),
  {
    match: { queryParameters: [{ name: 'kind', match: { type: 'regex', value: 'fish|w.*e' } }] },
    targets: shop,
    timeoutMs: 0,
    rewrite: { path: { type: 'full', value: '/kind' } },
  },
  route('/api', { rewrite: { path: { type: 'prefix', value: '/v2' } } }),
  route('/strip', { rewrite: { host: 'other.example', path: { type: 'prefix', value: '' } } }),
  route('/whole', { rewrite: { path: { type: 'full', value: "/it's/%25/$HOME" } } }),
  // No route sees what another one has changed.
  route('/v2', { rewrite: { path: { type: 'full', value: '/twice' } } }),
  route(TELLS_HEADERS, {
    requestHeaders: {
      add: [{ name: 'x-add', value: 'more' }],
      remove: ['x-secret', 'x-other'],
      set: [
        { name: 'x-nasty', value: nasty },
        { name: 'x-set', value: '100%' },
      ],
    },
    targets: [{ ...shop[0]!, requestHeaders: { set: [{ name: 'x-target', value: 'one' }] } }],
  }),
  route('/answer', {
    responseHeaders: { add: [{ name: 'x-add', value: nasty }], remove: ['date'], set: [{ name: 'x-set', value: '' }] },
  }),
  route('/old', {
    redirect: {
      status: 301,
      scheme: 'https',
      host: 'example.com',
      port: 8443,
      path: { type: 'prefix', value: '/new' },
    },
    responseHeaders: { set: [{ name: 'x-set', value: 'moved' }] },
  }),
  route('/gone', { redirect: { status: 308, host: 'example.com', port: 80, path: { type: 'prefix', value: '' } } }),
  route('/here', { redirect: { status: 307, path: { type: 'full', value: "/it's/%5B/$HOME" } } }),
  route('/safe', { redirect: { status: 302, scheme: 'https' } }),
  route('/port', { redirect: { status: 303, port: 81 } }),
  route('/broken', { targets: [], errorWeight: 1 }),
  route('/away', { targets: [], errorWeight: 1, errorStatus: 503 }),
  route('/partly', { errorWeight: 1 }),
  route(SILENT, { timeoutMs: 300 }),
]

describe('routes with a real HAProxy', () => {
  const fixture = new MeshFixture()
  let http = 0

  beforeAll(async () => {
    await fixture.start()
    http = await freePort()
    const inbound = await freePort()
    fixture.certify('buyer')
    fixture.certify('shop', ['shop'])
    const client = await fixture.sidecar('buyer')
    const server = await fixture.sidecar('shop')
    const serves = served('shop', inbound, await fixture.application('shop'), [{ match: {}, allow: buyer }])
    const listen = { listen: { outboundHttp: { address: '127.0.0.1', port: http } } }
    const calls = called(
      [{ name: 'shop', endpoints: [inbound], outbound: { rules: { kind: 'http', routes } } }],
      listen,
    )
    await Promise.all([fixture.apply(server, 'shop', serves), fixture.apply(client, 'buyer', calls)])
  })
  afterAll(async () => fixture.stop())

  it.each([
    ['/?animal=whale', '/whale?animal=whale'],
    ['/?a=b&animal=whale&c', '/whale?a=b&animal=whale&c'],
    ['/?&&animal=whale', '/whale?&&animal=whale'],
    ['/?a.b', '/empty?a.b'],
    ['/?a.b=&c', '/empty?a.b=&c'],
    [`/?quoted='"$%[path]\\1`, `/quoted?quoted='"$%[path]\\1`],
    ['/?kind=fish', '/kind?kind=fish'],
    ['/?kind=whale', '/kind?kind=whale'],
    ['/api', '/v2'],
    ['/api/', '/v2/'],
    ['/api/a/b?c=d', '/v2/a/b?c=d'],
    ['/strip', '/'],
    ['/strip/', '/'],
    ['/strip/a?b', '/a?b'],
    ['/whole/a?b=c', "/it's/%25/$HOME?b=c"],
  ])('sends %j as %j', async (path, sent) => {
    expect(await ask(http, 'shop.default', path)).toMatchObject({ status: 200, body: `shop ${sent}` })
  })

  it.each([
    // Of a parameter the first value counts, and a semicolon is a part of it.
    '/?animal=dog&animal=whale',
    '/?animal=whale;b=c',
    '/?b=c;animal=whale',
    '/?animals=whale',
    '/?animal',
    '/?ANIMAL=whale',
    '/?animal=%77hale',
    '/?a',
    '/?axb=',
    '/?a.b=c',
    '/?kind=',
    '/?',
    '/apis',
  ])('finds no route for %j', async (path) => {
    expect(await ask(http, 'shop.default', path)).toMatchObject({ status: 404 })
  })

  it('sets, adds and removes headers of requests, whatever is in them', async () => {
    const headers = { 'x-set': 'mine', 'x-add': 'mine', 'x-secret': 'word', 'x-kept': 'yes' }
    const { body } = await ask(http, 'shop.default', TELLS_HEADERS, { headers })
    const seen = JSON.parse(body) as Readonly<Record<string, string>>
    expect(seen).toMatchObject({ 'x-set': '100%', 'x-add': 'mine, more', 'x-kept': 'yes', 'x-target': 'one' })
    expect(seen).not.toHaveProperty('x-secret')
    expect(Buffer.from(seen['x-nasty'] ?? '', 'latin1').toString()).toBe(nasty)
  })

  it('changes the host of a request with its path', async () => {
    expect((await ask(http, 'shop.default', `/strip${TELLS_HEADERS}`)).body).toContain('"host":"other.example"')
  })

  it('sets, adds and removes headers of responses, whatever is in them', async () => {
    const { status, headers } = await ask(http, 'shop.default', '/answer')
    expect({ status, set: headers['x-set'], date: headers.date }).toEqual({ status: 200, set: '', date: undefined })
    expect(Buffer.from(String(headers['x-add']), 'latin1').toString()).toBe(nasty)
  })

  it.each([
    ['/old/a?b=c', 301, 'https://example.com:8443/new/a?b=c'],
    ['/gone', 308, 'http://example.com/'],
    ['/gone/a', 308, 'http://example.com/a'],
    ['/here/a?b', 307, "http://shop.default/it's/%5B/$HOME?b"],
    ['/safe/a?b=%20', 302, 'https://shop.default/safe/a?b=%20'],
    ['/port', 303, 'http://shop.default:81/port'],
  ])('redirects %j with %d to %j', async (path, status, location) => {
    const answer = await ask(http, 'shop.default', path)
    expect({ status: answer.status, location: answer.headers.location }).toEqual({ status, location })
  })

  it('keeps the port of the host that was requested, unless another scheme or port takes its place', async () => {
    const location = async (path: string) => (await ask(http, 'shop.default:80', path)).headers.location
    expect(await location('/here')).toBe("http://shop.default:80/it's/%5B/$HOME")
    expect(await location('/safe')).toBe('https://shop.default/safe')
    expect(await location('/port')).toBe('http://shop.default:81/port')
  })

  it('changes headers of redirects', async () => {
    expect((await ask(http, 'shop.default', '/old')).headers['x-set']).toBe('moved')
  })

  it.each([
    ['/broken', 500],
    ['/away', 503],
  ])('answers %j with %d', async (path, status) => {
    expect(await ask(http, 'shop.default', path)).toMatchObject({ status })
  })

  it('answers a share of the requests with errors', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async () => (await ask(http, 'shop.default', '/partly')).status),
    )
    const errors = statuses.filter((status) => status === 500).length
    expect(new Set(statuses)).toEqual(new Set([200, 500]))
    expect(errors).toBeGreaterThan(60)
    expect(errors).toBeLessThan(140)
  })

  it('answers with 504 what takes longer than a route waits', async () => {
    expect(await ask(http, 'shop.default', SILENT)).toMatchObject({ status: 504 })
    expect(await ask(http, 'shop.default', `${SILENT}/a`)).toMatchObject({ status: 504 })
  })
})
