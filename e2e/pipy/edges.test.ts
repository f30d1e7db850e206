import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { PipyConfig } from '@osm-ts/driver-pipy'

import { overHttp2 } from '../dataplane/support/http2-call.js'
import { type Seen, tlsApp } from './support/apps.js'
import { principalOf, SERVICE } from './support/base-config.js'
import { inTheClear, intrude, open, through } from './support/calls.js'
import { clientConfig, serverConfig } from './support/configs.js'
import { grpcApp } from './support/grpc-app.js'
import { Shop } from './support/shop.js'

const GET = 'GET /books/1 HTTP/1.1\r\nhost: x\r\n\r\n'

describe('the edges of the mesh on real sidecars', () => {
  let shop: Shop

  beforeAll(async () => {
    shop = await Shop.open()
  })
  afterAll(async () => {
    await shop.stop()
  })

  const ingress = (extra: Partial<PipyConfig['ingress'][number]>): PipyConfig['ingress'][number] => ({
    id: 'demo/server|8080|ingress',
    port: 8080,
    listen: shop.at.ingress,
    sources: ['127.0.0.0/8'],
    tls: 'none',
    serverNames: [],
    local: shop.apps.http.address,
    protocol: 'http',
    matches: [{ path: { prefix: '/books' } }],
    limits: [],
    ...extra,
  })

  it('let callers from outside in by their address and what they ask', async () => {
    await shop.apply(clientConfig(shop), { ...serverConfig(shop), ingress: [ingress({})] })
    const answered = async (path: string): Promise<number> => (await fetch(`http://${shop.at.ingress}${path}`)).status
    expect(await answered('/books/1')).toBe(200)
    expect(await answered('/admin')).toBe(403)
    await shop.give('server', { ...serverConfig(shop), ingress: [ingress({ sources: ['10.0.0.0/8'] })] })
    expect(await inTheClear(shop.at.ingress, GET)).toBe('closed')
  })

  it('let callers from outside do what the narrowest range says that they are in', async () => {
    const wide = ingress({ id: 'a' })
    const narrow = ingress({ id: 'b', sources: ['127.0.0.1/32'], matches: [{ path: { prefix: '/admin' } }] })
    const widest = ingress({ id: 'c', sources: ['0.0.0.0/0'] })
    for (const ports of [
      [wide, narrow, widest],
      [widest, narrow, wide],
    ]) {
      await shop.give('server', { ...serverConfig(shop), ingress: ports })
      expect(await inTheClear(shop.at.ingress, GET.replace('/books/1', '/admin'))).toBe('HTTP/1.1 200 OK')
      expect(await inTheClear(shop.at.ingress, GET)).toBe('HTTP/1.1 403 Forbidden')
    }
  })

  it('let callers from outside in by their certificate', async () => {
    const mtls = ingress({ tls: 'mtls', names: ['gateway.edge'], listen: shop.at.ingressTls })
    await shop.apply(clientConfig(shop), { ...serverConfig(shop), ingress: [mtls] })
    const as = (name: string) => ({
      serverName: SERVICE,
      credential: shop.authority.issue(name),
      protocols: ['http/1.1'],
    })
    expect(await intrude(shop.at.ingressTls, as('gateway.edge'), GET)).toBe('HTTP/1.1 200 OK')
    expect(await intrude(shop.at.ingressTls, as('stranger.edge'), GET)).toBe('HTTP/1.1 403 Forbidden')
    expect(await intrude(shop.at.ingressTls, { serverName: SERVICE, protocols: ['http/1.1'] }, GET)).toBe('closed')
    expect(await inTheClear(shop.at.ingressTls, GET)).toBe('closed')
    const tls = ingress({ tls: 'tls', listen: shop.at.ingressTls })
    await shop.give('server', { ...serverConfig(shop), ingress: [tls] })
    expect(await intrude(shop.at.ingressTls, { serverName: SERVICE, protocols: ['http/1.1'] }, GET)).toBe(
      'HTTP/1.1 200 OK',
    )
  })

  it('answer probes for the workload', async () => {
    const probe = (path: string, extra: Partial<PipyConfig['probes'][number]>): PipyConfig['probes'][number] => ({
      listen: shop.at.probe,
      path,
      type: 'http',
      target: shop.apps.http.address,
      targetPath: '/healthz?status=204',
      headers: [['x-probe', 'yes']],
      timeoutMs: 1_000,
      ...extra,
    })
    const probes = [
      probe('/live', {}),
      probe('/ready', { targetPath: '/healthz?status=500' }),
      probe('/tcp', { type: 'tcp', target: shop.apps.tcp.address }),
      probe('/dead', { type: 'tcp', target: '127.0.0.1:1' }),
    ]
    await shop.give('server', { ...serverConfig(shop), probes })
    const status = async (path: string): Promise<number> => (await fetch(`http://${shop.at.probe}${path}`)).status
    expect([
      await status('/live'),
      await status('/ready'),
      await status('/tcp'),
      await status('/dead'),
      await status('/none'),
    ]).toEqual([204, 500, 200, 503, 404])
  })

  it('answer probes for a workload that speaks TLS, or gRPC', async () => {
    const { chain, privateKey } = shop.authority.issue('workload')
    const tls = await tlsApp(chain, privateKey)
    const grpc = await grpcApp('grpc')
    try {
      const own = { listen: shop.at.probe, headers: [], timeoutMs: 1_000 }
      const probes: PipyConfig['probes'] = [
        { ...own, path: '/live', type: 'https', target: tls.address, targetPath: '/healthz?status=204' },
        { ...own, path: '/dead', type: 'https', target: shop.apps.http.address, targetPath: '/' },
        { ...own, path: '/grpc.health.v1.Health/Echo', type: 'grpc', target: grpc.address, targetPath: '/' },
      ]
      await shop.give('server', { ...serverConfig(shop), probes })
      const status = async (path: string): Promise<number> => (await fetch(`http://${shop.at.probe}${path}`)).status
      expect([await status('/live'), await status('/dead')]).toEqual([204, 503])
      const health = `http://${shop.at.probe}`
      expect(await overHttp2(health, `${health}/grpc.health.v1.Health/Echo`, 'grpc')).toMatchObject({ code: '0' })
      await grpc.stop()
      expect(await overHttp2(health, `${health}/grpc.health.v1.Health/Echo`, 'grpc')).toMatchObject({ status: 502 })
    } finally {
      await tls.stop()
      await grpc.stop()
    }
  })

  it('let no header in under a spelling that no rule has looked at, and none that claims an identity', async () => {
    const [http, tcp] = serverConfig(shop).served ?? []
    if (http === undefined || tcp === undefined) throw new Error('the server serves two ports')
    const role = { path: { exact: '/role' }, headers: [{ name: 'x-user-role', match: { exact: 'reader' } }] }
    const claim = { path: { exact: '/claim' }, headers: [{ name: 'serviceidentity', match: { exact: 'admin' } }] }
    const rules = {
      kind: 'http',
      allow: [role, claim].map((match) => ({ match, callers: 'client' })),
      limits: [],
    } as const
    const named = { ...http, rules, namedHeaders: ['serviceidentity', 'x-user-role', 'x_app_id'] }
    await shop.apply(clientConfig(shop), { served: [named, tcp] })
    const ask = (path: string, headers: Record<string, string>) =>
      through(shop.at.proxy, `http://server.demo:8080${path}`, { headers })
    expect((await ask('/role', { x_user_role: 'reader' })).status).toBe(403)
    expect((await ask('/claim', { serviceidentity: 'admin' })).status).toBe(403)
    const sent = {
      'x-user-role': 'reader',
      x_user_role: 'admin',
      'x_user-role': 'admin',
      x_app_id: 'shop',
      'x-app-id': 'other',
      x_trace_id: '1',
      'x-forwarded-client-cert': 'URI=admin',
      x_forwarded_client_cert: 'URI=admin',
      'x_forwarded-client-cert': 'URI=admin',
      serviceidentity: 'admin',
    }
    const answer = await ask('/role', sent)
    expect(answer.status).toBe(200)
    const { headers } = JSON.parse(answer.body) as Seen
    const seen = Object.entries(headers).filter(([name]) => Object.hasOwn(sent, name))
    expect(Object.fromEntries(seen)).toEqual({ 'x-user-role': 'reader', x_app_id: 'shop', x_trace_id: '1' })
  })

  it('answer 400 to paths with bytes that are not ASCII, whatever they would decode to', async () => {
    await shop.apply(clientConfig(shop), serverConfig(shop))
    const credential = shop.authority.issue(principalOf('client'))
    const ask = (path: string): Promise<string> =>
      intrude(
        shop.at.servedHttp,
        { serverName: SERVICE, credential },
        Buffer.from(`GET ${path} HTTP/1.1\r\nhost: server.demo:8080\r\n\r\n`, 'latin1'),
      )
    for (const path of ['/books/\xff', '/books/\xc0\xae\xc0\xae/admin', '/books/caf\xe9', '/books/%ff'])
      expect([path, await ask(path)]).toEqual([path, expect.stringMatching(/^HTTP\/1\.1 400 /)])
    expect(await ask('/books/caf%C3%A9')).toBe('HTTP/1.1 200 OK')
  })

  it('let workloads out where egress is open, and by rules', async () => {
    const url = `http://${shop.apps.second.address}/outside`
    await shop.give('client', { ...clientConfig(shop), egress: true })
    const answer = await through(shop.at.proxy, url)
    expect(answer.status).toBe(200)
    expect((JSON.parse(answer.body) as Seen).server).toBe('second')
    const rule: PipyConfig['outside'][number] = {
      id: 'outside',
      port: shop.apps.second.port,
      protocol: 'http',
      hosts: ['127.0.0.1'],
      cidrs: [],
      routes: [{ match: { path: { exact: '/outside' } }, shares: [{ upstream: 'outside', weight: 1 }] }],
    }
    const client = clientConfig(shop)
    const outside: PipyConfig['upstreams'][string] = {
      http2: false,
      addresses: { kind: 'endpoints', priorities: [[{ address: shop.apps.second.address, weight: 1 }]] },
      connectTimeoutMs: 1_000,
      balancing: 'round-robin',
    }
    await shop.give('client', { ...client, outside: [rule], upstreams: { ...client.upstreams, outside } })
    expect((await through(shop.at.proxy, url)).status).toBe(200)
    expect((await through(shop.at.proxy, url.replace('outside', 'inside'))).status).toBe(404)
    expect((await through(shop.at.proxy, 'http://127.0.0.1:1/')).status).toBe(403)
  })

  it('limit new connections', async () => {
    const [http, tcp] = serverConfig(shop).served ?? []
    if (http === undefined || tcp === undefined) throw new Error('the server serves two ports')
    const connectionLimit = { tokens: 1, intervalMs: 60_000, burst: 1 }
    await shop.apply(clientConfig(shop), { served: [http, { ...tcp, connectionLimit }] })
    const connections = [1, 2, 3].map(() => open(shop.at.clientTcp))
    await shop.until(() => connections.filter(({ isClosed }) => isClosed()).length, 1, 'one connection too many')
    await shop.until(() => connections.filter(({ received }) => received() === 'hello\n').length, 2, 'two greetings')
    for (const { socket } of connections) socket.destroy()
  })

  it('open a circuit on statistics, and answer in place of the upstream', async () => {
    const client = clientConfig(shop)
    const http = client.upstreams?.['http']
    if (http === undefined) throw new Error('the client calls an HTTP port')
    const breaker = { windowMs: 60_000, minRequests: 3, openMs: 60_000, errorRatio: 1, status: 409, body: 'later' }
    await shop.apply({ ...client, upstreams: { ...client.upstreams, http: { ...http, breaker } } }, serverConfig(shop))
    const answers = []
    for (let i = 0; i < 5; i += 1)
      answers.push(await through(shop.at.proxy, 'http://server.demo:8080/books/1?status=500'))
    expect(answers.map(({ status }) => status)).toEqual([500, 500, 500, 409, 409])
    expect(answers[4]?.body).toBe('later')
  })
})
