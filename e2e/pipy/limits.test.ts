import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { PipyConfig } from '@osm-ts/driver-pipy'

import { type SlowApp, slowApp } from './support/apps.js'
import { type Answer, open, through } from './support/calls.js'
import { clientConfig, serverConfig } from './support/configs.js'
import { Shop } from './support/shop.js'

type Upstream = PipyConfig['upstreams'][string]
type Route = NonNullable<PipyConfig['called'][number]['routes']>[number]
type Retries = PipyConfig['called'][number]['retries']

describe('bounds on what a real sidecar asks of an upstream', () => {
  let shop: Shop
  let app: SlowApp

  beforeAll(async () => {
    shop = await Shop.open()
  })
  beforeEach(async () => {
    app = await slowApp()
  })
  afterEach(async () => {
    await app.stop()
  })
  afterAll(async () => {
    await shop.stop()
  })

  /** Has the client call the app itself, in plaintext, so that the app sees the very connections that are counted. */
  async function call(upstream: Partial<Upstream>, route: Partial<Route> = {}, retries?: Retries): Promise<void> {
    const direct: Upstream = {
      http2: false,
      addresses: { kind: 'endpoints', priorities: [[{ address: app.address, weight: 1 }]] },
      connectTimeoutMs: 1_000,
      balancing: 'round-robin',
      ...upstream,
    }
    const id = `direct-${app.port}`
    const called: PipyConfig['called'][number] = {
      id,
      port: 8080,
      addresses: [],
      hosts: ['direct'],
      routes: [{ match: {}, shares: [{ upstream: id, weight: 1 }], ...route }],
      ...(retries === undefined ? {} : { retries }),
    }
    const word = await shop.give('client', {
      ...clientConfig(shop),
      called: [called],
      upstreams: { [id]: direct },
    })
    expect(word.refused).toBeUndefined()
  }

  const ask = (path: string): Promise<Answer> => through(shop.at.proxy, `http://direct:8080${path}`)
  const statusOf = async (path: string): Promise<number> => (await ask(path)).status
  const held = (count: number): Promise<void> => shop.until(app.held, count, `${count} held`)

  it('hold requests for a connection, as many as may wait', async () => {
    await call({ maxConnections: 1, maxPending: 1 })
    const first = statusOf('/first')
    await held(1)
    const second = statusOf('/second')
    // The proxy answers what is one too many at once, so that by then the second one waits.
    const third = await ask('/third')
    expect([third.status, third.body]).toEqual([503, 'too many connections'])
    app.release()
    expect([await first, await second]).toEqual([200, 200])
    expect(app.connections()).toBe(1)
  })

  it('give the slot of a request to the next one when its caller disconnects', async () => {
    await call({ maxConnections: 1 })
    const gone = open(shop.at.proxy)
    gone.socket.write('GET http://direct:8080/gone HTTP/1.1\r\nhost: direct:8080\r\n\r\n')
    await held(1)
    const next = ask('/now')
    gone.socket.destroy()
    expect((await next).status).toBe(200)
    await held(0)
  })

  it('close a connection after as many requests as it may carry', async () => {
    await call({ maxConnections: 1, maxRequestsPerConnection: 2 })
    for (let i = 0; i < 4; i += 1) expect(await statusOf('/now')).toBe(200)
    expect(app.connections()).toBe(2)
  })

  it('answer 503 to requests beyond those at a time', async () => {
    await call({ maxRequests: 1 })
    const first = statusOf('/first')
    await held(1)
    expect(await statusOf('/second')).toBe(503)
    app.release()
    expect(await first).toBe(200)
  })

  it('close TCP connections beyond those at a time', async () => {
    const client = clientConfig(shop)
    const tcp = client.upstreams?.['tcp']
    if (tcp === undefined) throw new Error('the client calls a TCP port')
    await shop.apply(
      { ...client, upstreams: { ...client.upstreams, tcp: { ...tcp, maxConnections: 1 } } },
      serverConfig(shop),
    )
    const first = open(shop.at.clientTcp)
    await shop.until(first.received, 'hello\n', 'the greeting')
    const second = open(shop.at.clientTcp)
    await shop.until(second.isClosed, true, 'the end of the second connection')
    expect([first.isClosed(), second.received()]).toEqual([false, ''])
    first.socket.destroy()
    await shop.until(
      async () => {
        const next = open(shop.at.clientTcp)
        await shop.until(() => next.received() !== '' || next.isClosed(), true, 'a greeting or an end')
        next.socket.destroy()
        return next.received()
      },
      'hello\n',
      'the place of the first connection',
    )
  })

  it('try again when a try takes too long', async () => {
    await call({}, {}, { on: ['5xx'], times: 1, tryTimeoutMs: 300, backoffMs: 1 })
    expect(await statusOf('/once')).toBe(200)
    const { status, body } = await ask('/never')
    expect([status, body]).toEqual([504, 'upstream request timeout'])
    await held(0)
  })

  it('try no oftener at a time than retries may', async () => {
    await call({ maxRetries: 0 }, {}, { on: ['5xx'], times: 3, tryTimeoutMs: 200, backoffMs: 1 })
    const before = app.connections()
    expect(await statusOf('/once')).toBe(504)
    expect(app.connections() - before).toBe(1)
  })

  it('answer in place of an upstream that takes longer than a route allows', async () => {
    await call({ http2: false }, { timeoutMs: 300 })
    expect(await statusOf('/now')).toBe(200)
    expect(await statusOf('/held')).toBe(504)
    await held(0)
    // Waiting for a connection counts as well.
    await call({ maxConnections: 1 }, { timeoutMs: 300 })
    expect(await Promise.all([statusOf('/held'), statusOf('/waits')])).toEqual([504, 504])
  })

  it('break an answer off that takes longer than its route allows, for all to see', async () => {
    await call({}, { timeoutMs: 300 })
    await expect(statusOf('/stall')).rejects.toThrow(/aborted|hang up|reset/i)
    expect(await statusOf('/now')).toBe(200)
  })
})
