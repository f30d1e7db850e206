import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { PipyConfig } from '@osm-ts/driver-pipy'
import { testAuthority } from '@osm-ts/driver-testkit'

import type { Seen } from './support/apps.js'
import { type Answer, inTheClear, open, through } from './support/calls.js'
import { clientConfig, meshUpstream, serverConfig } from './support/configs.js'
import { Shop } from './support/shop.js'

describe('changes of what real sidecars do', () => {
  let shop: Shop

  beforeAll(async () => {
    shop = await Shop.open()
    await shop.apply(clientConfig(shop), serverConfig(shop))
  })
  afterEach(async () => {
    await shop.apply(clientConfig(shop), serverConfig(shop))
  })
  afterAll(async () => {
    await shop.stop()
  })

  const get = (path = '/books/1'): Promise<Answer> => through(shop.at.proxy, `http://server.demo:8080${path}`)
  const servers = async (times: number): Promise<Readonly<Record<string, number>>> => {
    const counts: Record<string, number> = {}
    for (let i = 0; i < times; i += 1) {
      const { status, body } = await get()
      const name = status === 200 ? (JSON.parse(body) as Seen).server : `${status}`
      counts[name] = (counts[name] ?? 0) + 1
    }
    return counts
  }

  it('end open connections when access is withdrawn, and refuse new requests', async () => {
    const tcp = open(shop.at.clientTcp)
    await shop.until(tcp.received, 'hello\n', 'the greeting')
    const socket = open(shop.at.proxy)
    socket.socket.write(
      'GET http://server.demo:8080/books/ws HTTP/1.1\r\nhost: server.demo:8080\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n',
    )
    await shop.until(() => socket.received().startsWith('HTTP/1.1 101'), true, 'the upgrade')
    await shop.give('server', serverConfig(shop, 'nobody'))
    expect((await get()).status).toBe(403)
    await shop.until(tcp.isClosed, true, 'the end of the TCP connection')
    await shop.until(socket.isClosed, true, 'the end of the WebSocket')
  })

  it('leave connections that are still allowed open', async () => {
    const tcp = open(shop.at.clientTcp)
    await shop.until(tcp.received, 'hello\n', 'the greeting')
    await shop.apply({ ...clientConfig(shop), idleMs: 50_000 }, { ...serverConfig(shop), idleMs: 50_000 })
    tcp.socket.write('still here')
    await shop.until(tcp.received, 'hello\nstill here', 'the echo')
    tcp.socket.destroy()
  })

  it('share requests out exactly, as the weights say', async () => {
    const second = {
      ...serverConfig(shop).served?.[0],
      listen: shop.at.lateHttp,
      local: shop.apps.second.address,
      id: 'demo/second|8080',
    }
    const server = serverConfig(shop)
    await shop.give('server', { ...server, served: [...(server.served ?? []), second] as PipyConfig['served'] })
    const client = clientConfig(shop)
    const [http, tcp] = client.called ?? []
    if (http === undefined || tcp === undefined) throw new Error('the client calls two ports')
    const shares = [
      { upstream: 'http', weight: 75 },
      { upstream: 'second', weight: 25 },
    ]
    await shop.give('client', {
      ...client,
      called: [{ ...http, routes: [{ match: {}, shares }] }, tcp],
      upstreams: { ...client.upstreams, second: meshUpstream([shop.at.lateHttp]) },
    })
    expect(await servers(40)).toEqual({ first: 30, second: 10 })
  })

  it('close the port of what is not served any more', async () => {
    await shop.give('server', { served: serverConfig(shop).served?.slice(0, 1) ?? [] })
    expect(await inTheClear(shop.at.servedTcp, 'hi')).toBe('closed')
    const { isClosed } = open(shop.at.clientTcp)
    await shop.until(isClosed, true, 'the end of the connection')
    expect((await get()).status).toBe(200)
  })

  it('replace roots and certificates without a failed request', async () => {
    const next = testAuthority('the next root')
    const enough = new AbortController()
    const statuses: number[] = []
    const caller = async (): Promise<void> => {
      while (!enough.signal.aborted) statuses.push((await get()).status)
    }
    const load = Promise.all(Array.from({ length: 4 }, caller))
    // A root is removed when all certificates have been replaced for a while, and no earlier handshake is in progress.
    const answered = async (): Promise<void> => {
      const before = statuses.length
      // Of each caller one that began afterwards.
      await shop.until(() => statuses.length > before + 8, true, 'more answers')
    }
    const trust = (roots: readonly string[]): Pick<PipyConfig, 'trust'> => ({
      trust: { ...shop.config('x', {}).trust, roots },
    })
    const both = trust([next.certificate, shop.authority.certificate])
    await answered()
    await shop.apply({ ...clientConfig(shop), ...both }, { ...serverConfig(shop), ...both })
    await answered()
    await shop.give('server', { ...serverConfig(shop), ...both }, shop.issue('server', next))
    await shop.give('client', { ...clientConfig(shop), ...both }, shop.issue('client', next))
    await answered()
    const only = trust([next.certificate])
    await shop.give('server', { ...serverConfig(shop), ...only }, shop.issue('server', next))
    await shop.give('client', { ...clientConfig(shop), ...only }, shop.issue('client', next))
    await answered()
    enough.abort()
    await load
    expect(new Set(statuses)).toEqual(new Set([200]))
    // Whom only the old root knows is a stranger now.
    await shop.give('client', clientConfig(shop))
    expect((await get()).status).toBe(503)
  })

  it('keep what is in force when a document cannot be used', async () => {
    const broken = { ...shop.issue('server'), chain: 'no certificate' }
    const { refused } = await shop.give('server', serverConfig(shop), broken)
    expect(refused?.error).toMatch(/./)
    expect((await get()).status).toBe(200)
  })

  // At once or after a while: the next try begins before or after the first connection has said how it ended.
  it.each([0, 5])('try again what fails, as often as a Retry says, %d ms later', async (backoffMs) => {
    const client = clientConfig(shop)
    const [http, tcp] = client.called ?? []
    if (http === undefined || tcp === undefined) throw new Error('the client calls two ports')
    const dead = '127.0.0.1:1'
    const upstreams = { ...client.upstreams, http: meshUpstream([dead, shop.at.servedHttp]) }
    const retries = { on: ['connect-failure'], times: 2, backoffMs }
    await shop.give('client', { ...client, called: [{ ...http, retries }, tcp], upstreams })
    expect(await servers(6)).toEqual({ first: 6 })
    const [served, ...others] = serverConfig(shop).served ?? []
    if (served === undefined) throw new Error('the server serves HTTP')
    await shop.give('server', {
      served: [
        { ...served, requestLimit: { bucket: { tokens: 2, intervalMs: 60_000, burst: 1 }, status: 429, headers: [] } },
        ...others,
      ],
    })
    await shop.give('client', client)
    expect(await servers(5)).toEqual({ first: 3, 429: 2 })
  })
})
