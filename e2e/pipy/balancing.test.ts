import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { PipyConfig } from '@osm-ts/driver-pipy'

import { type App, httpApp, type Seen, type SlowApp, slowApp } from './support/apps.js'
import { SERVICE } from './support/base-config.js'
import { open, through } from './support/calls.js'
import { clientConfig, meshUpstream, serverConfig } from './support/configs.js'
import { passingOn } from './support/gateway.js'
import { Shop } from './support/shop.js'

type Upstream = PipyConfig['upstreams'][string]
type Endpoints = Extract<Upstream['addresses'], { kind: 'endpoints' }>['priorities']

describe('how a real sidecar chooses among endpoints', () => {
  let shop: Shop
  let apps: readonly App[]

  beforeAll(async () => {
    shop = await Shop.open()
    apps = await Promise.all(['a', 'b', 'c'].map(httpApp))
  })
  afterAll(async () => {
    await shop.stop()
    await Promise.all(apps.map((app) => app.stop()))
  })

  const address = (i: number): string => apps[i]?.address ?? ''
  const alike = (addresses: readonly string[]): Endpoints[number] =>
    addresses.map((each) => ({ address: each, weight: 1 }))

  /** Has the client call endpoints in plaintext, by HTTP and by TCP. */
  async function call(balancing: Upstream['balancing'], priorities: Endpoints): Promise<void> {
    const upstream: Upstream = {
      http2: false,
      addresses: { kind: 'endpoints', priorities },
      connectTimeoutMs: 1_000,
      balancing,
    }
    const shares = [{ upstream: 'all', weight: 1 }]
    await shop.give('client', {
      listen: { outboundHttp: shop.at.proxy },
      called: [
        { id: 'http', port: 80, addresses: [], hosts: ['all.demo'], routes: [{ match: {}, shares }] },
        { id: 'tcp', port: 90, addresses: [], hosts: [], listen: shop.at.clientTcp, shares },
      ],
      upstreams: { all: upstream },
    })
  }
  const ask = async (from?: string): Promise<string> => {
    const { status, body } = await through(shop.at.proxy, 'http://all.demo/', from === undefined ? {} : { from })
    return status === 200 ? (JSON.parse(body) as Seen).server : `${status}`
  }

  it('sends a source address to one endpoint for as long as that is there', async () => {
    const sources = Array.from({ length: 24 }, (_, i) => `127.0.1.${i + 1}`)
    const chosen = async (): Promise<readonly string[]> => {
      const servers = []
      for (const source of sources) servers.push(await ask(source))
      return servers
    }
    await call('hash', [alike([address(0), address(1), address(2)])])
    const first = await chosen()
    expect(new Set(first)).toEqual(new Set(['a', 'b', 'c']))
    expect(await chosen()).toEqual(first)
    await call('hash', [alike([address(2), address(0)])])
    const without = await chosen()
    expect(without.filter((server, i) => first[i] !== 'b' && server !== first[i])).toEqual([])
    expect(without).not.toContain('b')
  })

  it('sends requests to where the fewest are under way, and shares alike where none are', async () => {
    const slow = await slowApp()
    try {
      await call('least-request', [alike([slow.address])])
      const held = [1, 2].map(() => through(shop.at.proxy, 'http://all.demo/hold'))
      await shop.until(slow.held, 2, 'two requests that wait')
      // What is under way counts on under the new configuration.
      await call('least-request', [alike([slow.address, address(0), address(1)])])
      const counts: Record<string, number> = {}
      for (let i = 0; i < 10; i += 1) {
        const server = await ask()
        counts[server] = (counts[server] ?? 0) + 1
      }
      expect(counts).toEqual({ a: 5, b: 5 })
      slow.release()
      expect((await Promise.all(held)).map(({ body }) => body)).toEqual(['whole', 'whole'])
    } finally {
      await slow.stop()
    }
  })

  describe('by TCP', () => {
    let slow: SlowApp
    beforeEach(async () => {
      slow = await slowApp()
    })
    afterEach(async () => {
      await slow.stop()
    })

    it('counts connections that are open', async () => {
      await call('least-request', [alike([slow.address, shop.apps.tcp.address])])
      const talk = [1, 2, 3, 4].map(() => open(shop.at.clientTcp))
      await shop.until(() => talk.filter(({ received }) => received() === 'hello\n').length, 2, 'two greetings')
      await shop.until(slow.connections, 2, 'two connections to the other')
      for (const { socket } of talk) socket.destroy()
    })
  })

  it('takes the closest of what can be reached, and goes back to it', async () => {
    const local = await slowApp()
    await call('round-robin', [alike([local.address]), alike([address(0), address(1)]), alike([address(2)])])
    expect((await through(shop.at.proxy, 'http://all.demo/now')).body).toBe('whole')
    await local.stop()
    const counts: Record<string, number> = {}
    for (let i = 0; i < 7; i += 1) {
      const server = await ask()
      counts[server] = (counts[server] ?? 0) + 1
    }
    // The request that finds out is the only one that is lost; no one goes further than to the next.
    expect(counts).toEqual({ 503: 1, a: 3, b: 3 })
    await call('round-robin', [alike([address(2)]), alike([address(0)])])
    expect(await ask()).toBe('c')
  })

  it('reaches the sidecars of another cluster through a gateway that opens nothing, once those at home are gone', async () => {
    const names: string[] = []
    const gateway = await passingOn(shop.at.servedHttp, (name) => names.push(name))
    try {
      await shop.give('server', serverConfig(shop))
      const client = clientConfig(shop)
      const http = meshUpstream([], {
        addresses: { kind: 'endpoints', priorities: [alike(['127.0.0.1:1']), alike([gateway.address])] },
      })
      await shop.give('client', { ...client, upstreams: { ...client.upstreams, http } })
      const statuses = []
      for (let i = 0; i < 4; i += 1)
        statuses.push((await through(shop.at.proxy, 'http://server.demo:8080/books/1')).status)
      expect(statuses).toEqual([503, 200, 200, 200])
      expect(new Set(names)).toEqual(new Set([SERVICE]))
    } finally {
      await gateway.stop()
    }
  })
})
