import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { testAuthority } from '@osm-ts/driver-testkit'
import { eventually } from '@osm-ts/driver-api/toolkit'

import type { Seen } from './support/apps.js'
import { principalOf, SERVICE } from './support/base-config.js'
import { type Answer, inTheClear, intrude, open, through } from './support/calls.js'
import { clientConfig, meshUpstream, serverConfig } from './support/configs.js'
import { Shop } from './support/shop.js'

const GET = `GET /books/1 HTTP/1.1\r\nhost: ${SERVICE}\r\n\r\n`

describe('two real sidecars of class pipy', () => {
  let shop: Shop

  beforeAll(async () => {
    shop = await Shop.open()
    await shop.apply(clientConfig(shop), serverConfig(shop))
  })
  afterAll(async () => {
    await shop.stop()
  })

  const get = (path: string, options?: Parameters<typeof through>[2]): Promise<Answer> =>
    through(shop.at.proxy, `http://server.demo:8080${path}`, options)
  const seen = (answer: Answer): Seen => JSON.parse(answer.body) as Seen

  it('are ready once the first configuration is in force', async () => {
    expect(await shop.isReady(shop.at.clientAdmin)).toBe(true)
    expect(await shop.isReady(shop.at.serverAdmin)).toBe(true)
  })

  it('pass requests that a rule allows, as they are', async () => {
    const answer = await get('/books/1?a=b', { headers: { 'x-mine': 'yes' } })
    expect(answer.status).toBe(200)
    expect(seen(answer)).toMatchObject({
      method: 'GET',
      url: '/books/1?a=b',
      headers: { host: 'server.demo:8080', 'x-mine': 'yes' },
    })
  })

  it('take headers that could pass for an identity away, and orders to proxies', async () => {
    const headers = {
      serviceidentity: 'admin.demo',
      'x-forwarded-client-cert': 'By=spiffe://x',
      'x-envoy-upstream-rq-timeout-ms': '1',
      x_envoy_retry_on: '5xx',
    }
    const given = seen(await get('/books/1', { headers })).headers
    expect(Object.keys(given).filter((name) => Object.hasOwn(headers, name))).toEqual([])
  })

  it.each([
    ['another path', '/admin', {}, 403],
    ['another method', '/books/1', { method: 'POST', body: 'hello' }, 403],
    ['dot segments', '/books/%2e%2e/admin', {}, 400],
    ['an escaped slash', '/books%2fadmin', {}, 400],
  ])('refuse %s', async (_what, path, options, status) => {
    expect((await get(path, options)).status).toBe(status)
  })

  it('forward an escaped slash as it is where it is kept, and refuse dot segments beside one', async () => {
    expect((await get('/books%2fadmin')).body).toContain('spec.traffic.escapedSlashes')
    const { served = [] } = serverConfig(shop)
    const rule = { match: { path: { prefix: '/books/' } }, callers: 'client' }
    const keeping = served.map((port) =>
      port.rules.kind === 'http' ? { ...port, rules: { ...port.rules, allow: [rule] } } : port,
    )
    await shop.apply(clientConfig(shop), { ...serverConfig(shop), served: keeping, keepsEscapedSlashes: true })
    expect(seen(await get('/books/a%2Fb%5cc?d=%2f'))).toMatchObject({ url: '/books/a%2Fb%5cc?d=%2f' })
    for (const [path, status] of [
      ['/books/..%2fadmin', 400],
      ['/books/a%2f%2e%2e%5c..;x', 400],
      ['/books%2Fa', 403],
    ] as const)
      expect([path, (await get(path)).status]).toEqual([path, status])
    await shop.apply(clientConfig(shop), serverConfig(shop))
  })

  it('answer for hosts that no one has named', async () => {
    expect((await through(shop.at.proxy, 'http://elsewhere.example/')).status).toBe(403)
    expect((await through(shop.at.proxy, 'http://server.demo:9999/')).status).toBe(403)
  })

  it('pass TCP of servers that speak first', async () => {
    const connection = open(shop.at.clientTcp)
    await shop.until(connection.received, 'hello\n', 'the greeting')
    connection.socket.write('echo')
    await shop.until(connection.received, 'hello\necho', 'the echo')
    connection.socket.destroy()
  })

  const counted = async (admin: string, name: string): Promise<string> => {
    const text = await (await fetch(`http://${admin}/stats`)).text()
    return new RegExp(String.raw`^server\.${name}: (\d+)$`, 'm').exec(text)?.[1] ?? text
  }
  /** The server's sidecar has that many connections that withdrawn access would end, and both have so much under way. */
  const tracks = async (count: number): Promise<void> => {
    for (const [admin, name] of [
      [shop.at.serverAdmin, 'tracked_connections'],
      [shop.at.serverAdmin, 'under_way'],
      [shop.at.clientAdmin, 'under_way'],
    ] as const)
      await eventually(
        () => counted(admin, name),
        (answer) => answer === String(count),
        {
          what: `${name} ${count} at ${admin === shop.at.serverAdmin ? 'the server' : 'the client'}`,
        },
      )
  }

  it('forget TCP connections that have ended, no matter who ended them', async () => {
    await tracks(0)
    const connections = Array.from({ length: 5 }, () => open(shop.at.clientTcp))
    for (const { received } of connections) await shop.until(received, 'hello\n', 'the greeting')
    await tracks(5)
    const [aborted, ...others] = connections
    aborted!.socket.resetAndDestroy()
    await tracks(4)
    for (const { socket } of others) socket.end()
    await tracks(0)
  })

  it.each(['the caller', 'the caller, without a word', 'the workload'])(
    'pass WebSockets, and forget those that %s has ended',
    async (who) => {
      await tracks(0)
      const connection = open(shop.at.proxy)
      connection.socket.write(
        'GET http://server.demo:8080/books/ws HTTP/1.1\r\nhost: server.demo:8080\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n',
      )
      await shop.until(() => connection.received().startsWith('HTTP/1.1 101'), true, 'the upgrade')
      connection.socket.write('over the socket')
      await shop.until(() => connection.received().endsWith('over the socket'), true, 'the echo')
      await tracks(1)
      if (who === 'the caller') connection.socket.end()
      else if (who === 'the workload') connection.socket.write('bye')
      else connection.socket.resetAndDestroy()
      await tracks(0)
      connection.socket.destroy()
    },
  )

  describe('towards others', () => {
    const foreign = testAuthority('another root')

    it.each([
      ['an identity that no rule names', () => shop.issue('other'), 'HTTP/1.1 403 Forbidden'],
      ['the client itself', () => shop.issue('client'), 'HTTP/1.1 200 OK'],
      ['a certificate of another root', () => shop.issue('client', foreign), 'closed'],
      ['no certificate', () => undefined, 'closed'],
      [
        'a certificate without its principal among its names',
        () => shop.authority.issue(principalOf('client'), { dns: ['x'] }),
        'HTTP/1.1 403 Forbidden',
      ],
    ])('by HTTP: %s', async (_who, credential, answer) => {
      const own = credential()
      expect(await intrude(shop.at.servedHttp, { serverName: SERVICE, ...(own && { credential: own }) }, GET)).toBe(
        answer,
      )
    })

    it.each([
      ['an identity that no rule names', () => shop.issue('other'), 'closed'],
      ['the client itself', () => shop.issue('client'), 'hello'],
      ['a certificate of another root', () => shop.issue('client', foreign), 'closed'],
    ])('by TCP: %s', async (_who, credential, answer) => {
      expect(await intrude(shop.at.servedTcp, { serverName: SERVICE, credential: credential() }, 'hi')).toBe(answer)
    })

    it('close plain text, and names that they do not serve', async () => {
      expect(await inTheClear(shop.at.servedHttp, GET)).toBe('closed')
      expect(await inTheClear(shop.at.servedTcp, 'hi')).toBe('closed')
      expect(await intrude(shop.at.servedHttp, { serverName: 'x.demo', credential: shop.issue('client') }, GET)).toBe(
        'closed',
      )
    })
  })

  it('call no server that is somebody else', async () => {
    const wrong = meshUpstream([shop.at.servedHttp], {
      tls: { serverName: SERVICE, principals: [principalOf('other')] },
    })
    const config = clientConfig(shop)
    await shop.give('client', { ...config, upstreams: { ...config.upstreams, http: wrong } })
    expect((await get('/books/1')).status).toBe(503)
    await shop.give('client', config)
    expect((await get('/books/1')).status).toBe(200)
  })

  it('show what they do on their administration interface, without the key', async () => {
    const page = async (path: string): Promise<string> => (await fetch(`http://${shop.at.clientAdmin}${path}`)).text()
    const dump = await page('/config_dump')
    expect(JSON.parse(dump)).toMatchObject({
      format: 1,
      upstreams: { http: {} },
      revision: expect.any(String) as unknown,
    })
    expect(dump).not.toContain('PRIVATE KEY')
    expect(await page('/listeners')).toContain(`outboundHttp::${shop.at.proxy}\n`)
    expect(await page('/clusters')).toContain(`http::${shop.at.servedHttp}::weight::1\n`)
  })

  it('tell scrapers of requests, with the workloads of both sides', async () => {
    const text = await (await fetch(`http://${shop.at.clientMetrics}/stats/prometheus`)).text()
    expect(text).toMatch(
      /^osm_request_total\{response_code="403",source_namespace="demo",source_kind="Workload",source_name="client",source_pod="client-0",destination_namespace="demo",destination_kind="Workload",destination_name="server",destination_pod="server-0"\} \d+$/m,
    )
  })
})
