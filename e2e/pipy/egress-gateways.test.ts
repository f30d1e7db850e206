import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'

import type { PipyConfig } from '@osm-ts/driver-pipy'

import { type App, httpApp, type Seen, slowApp, tlsApp } from './support/apps.js'
import { principalOf, SERVICE } from './support/base-config.js'
import { inTheClear, through } from './support/calls.js'
import { Shop } from './support/shop.js'
import {
  type GatewayApp,
  gatewayApp,
  gatewayConfig,
  leavingConfig,
  type Mode,
  modes,
  oddGateway,
} from './support/ways-out.js'

type Upstream = PipyConfig['upstreams'][string]

/** A choice of no method by SOCKS 5, and words that are not HTTP/2. */
const NO_METHOD = { socks5: Buffer.from([5, 0xff]), http2tunnel: Buffer.from('HTTP/1.1 200 OK\r\n\r\n') }

describe.each(modes)('gateways of mode %s that real sidecars reach', (mode: Mode) => {
  let shop: Shop
  let servers: readonly App[]
  let gateways: readonly [GatewayApp, GatewayApp]

  beforeAll(async () => {
    shop = await Shop.open()
    servers = await Promise.all(['east', 'west'].map(httpApp))
  })
  afterAll(async () => {
    await shop.stop()
    await Promise.all(servers.map((server) => server.stop()))
  })
  // What a sidecar knows of a gateway that could not be reached is not to be that of another test.
  let number = 0
  const name = (i: number): string => `gateways-${number}-${i}`
  const leaving = (weights: readonly number[], extra: Partial<Upstream> = {}): Partial<PipyConfig> =>
    leavingConfig(shop, mode, weights, { name, extra })

  beforeEach(async () => {
    number += 1
    const [east, west] = servers
    gateways = [await gatewayApp(mode, east?.address ?? ''), await gatewayApp(mode, west?.address ?? '')]
  })
  afterEach(async () => {
    await Promise.all(gateways.map((gateway) => gateway.stop()))
  })

  const ask = async (host = 'books.test'): Promise<string> => {
    const { status, body } = await through(shop.at.proxy, `http://${host}/`)
    return status === 200 ? (JSON.parse(body) as Seen).server : `${status}`
  }
  const times = async (count: number, host?: string): Promise<Readonly<Record<string, number>>> => {
    const answers: Record<string, number> = {}
    for (let i = 0; i < count; i += 1) {
      const answer = await ask(host)
      answers[answer] = (answers[answer] ?? 0) + 1
    }
    return answers
  }
  const tunnels = async (cluster: string, result: string): Promise<number> => {
    const text = await (await fetch(`http://${shop.at.clientMetrics}/stats/prometheus`)).text()
    const name = `sidecar_egress_gateway_tunnels_total{sidecar_cluster_name="${cluster}",mode="${mode}",result="${result}"} `
    const line = text.split('\n').find((each) => each.startsWith(name))
    return line === undefined ? 0 : Number(line.slice(name.length))
  }

  it('are told what a request names, and nothing of what leaves directly', async () => {
    await shop.apply(leaving([1, 0]), gatewayConfig(shop, gateways))
    const before = await tunnels(name(0), 'opened')
    const answer = await through(shop.at.proxy, 'http://books.test/a?b', { method: 'POST', body: 'hello' })
    expect(JSON.parse(answer.body)).toMatchObject({ server: 'east', url: '/a?b', method: 'POST', body: 'hello' })
    expect(gateways[0].told).toEqual(['books.test 80'])
    expect(await ask('direct.test')).toBe('first')
    expect(gateways.map(({ told }) => told.length)).toEqual([1, 0])
    expect(await tunnels(name(0), 'opened')).toBe(before + 1)
    expect(await inTheClear(shop.at.servedHttp, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n')).toBe('closed')
    const lines = (): readonly string[] => shop.workers.client.output().split('\n')
    await shop.until(() => lines().some((line) => line.includes('"/a"')), true, 'the line of the request')
    expect(JSON.parse(lines().find((line) => line.includes('"/a"')) ?? '')).toMatchObject({
      response_code: 200,
      upstream_cluster: 'outside',
      upstream_host: 'books.test:80',
      egress_gateway: `${name(0)} ${shop.at.servedHttp}`,
    })
  })

  it('pass large bodies as they are', async () => {
    await shop.apply(leaving([1, 0]), gatewayConfig(shop, gateways))
    const body = 'abcdefgh'.repeat(500_000)
    const answer = await through(shop.at.proxy, 'http://books.test/', { method: 'POST', body })
    expect((JSON.parse(answer.body) as Seen).body === body).toBe(true)
  })

  it('get requests by weight', async () => {
    await shop.apply(leaving([3, 1]), gatewayConfig(shop, gateways))
    expect(await times(40)).toEqual({ east: 30, west: 10 })
  })

  it('get none while they cannot be reached and others can', async () => {
    await shop.apply(leaving([1, 1]), gatewayConfig(shop, gateways))
    const before = await tunnels(name(1), 'failed')
    await gateways[1].stop()
    expect(await times(20)).toEqual({ east: 19, '503': 1 })
    expect(await tunnels(name(1), 'failed')).toBe(before + 1)
  })

  it('are not left out for a server that they do not reach', async () => {
    await shop.apply(leaving([1, 0]), gatewayConfig(shop, gateways))
    const before = await tunnels(name(0), 'refused')
    gateways[0].leadTo('127.0.0.1:1')
    expect(await times(3)).toEqual({ '503': 3 })
    expect(await tunnels(name(0), 'refused')).toBe(before + 3)
    await shop.give('client', leaving([1, 1]))
    gateways[0].leadTo(servers[0]?.address ?? '')
    expect(await times(10)).toEqual({ east: 5, west: 5 })
  })

  it('let no one out whom their sidecar does not let in', async () => {
    await shop.apply(leaving([1, 0]), gatewayConfig(shop, gateways, 'nobody'))
    expect(await times(3)).toEqual({ '503': 3 })
    expect(gateways[0].told).toEqual([])
  })

  it('must be who they are to be', async () => {
    const impostor = { tls: { serverName: SERVICE, principals: [principalOf('other')] } }
    await shop.apply(leaving([1, 0], impostor), gatewayConfig(shop, gateways))
    expect(await times(3)).toEqual({ '503': 3 })
    expect(gateways[0].told).toEqual([])
  })

  it('are none without TLS, and where there are none nothing leaves', async () => {
    const client = leaving([1, 0])
    const { tls: _, ...open } = client.upstreams?.[name(0)] as Upstream
    const upstreams = { ...client.upstreams, [name(0)]: open }
    await shop.apply({ ...client, upstreams }, gatewayConfig(shop, gateways))
    expect(await ask()).toBe('503')
    await shop.give('client', leaving([0, 0]))
    expect(await ask()).toBe('503')
    const word = await shop.give('client', { ...client, ways: {} })
    expect(word.refused?.error).toMatch('there are no gateways')
    expect(await ask()).toBe('503')
  })

  it('are not told names that they could read in another way', async () => {
    await shop.apply(leaving([1, 0]), gatewayConfig(shop, gateways))
    for (const host of ['evil.com/.test', 'evil.com\0.test', 'a@b.test', 'evil.com .test']) {
      const status = await inTheClear(shop.at.proxy, `GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
      expect([host, status]).toEqual([host, expect.stringMatching(/^HTTP\/1.1 (400|403|503) /)])
    }
    expect(gateways[0].told).toEqual([])
  })

  it('pass the TLS that the sidecar speaks with a server', async () => {
    const { chain, privateKey } = shop.authority.issue('books', { dns: ['books.test'] })
    const server = await tlsApp(chain, privateKey)
    try {
      gateways[0].leadTo(server.address)
      const client = leaving([1, 0])
      const give = (named: string) => {
        const outsideTls = { serverName: named, names: [named], addresses: [], roots: 'mesh' } as const
        const outside = { ...(client.upstreams?.['outside'] as Upstream), outsideTls }
        return shop.apply({ ...client, upstreams: { ...client.upstreams, outside } }, gatewayConfig(shop, gateways))
      }
      const status = async (): Promise<number> => (await through(shop.at.proxy, 'http://books.test/?status=204')).status
      await give('books.test')
      expect(await status()).toBe(204)
      await give('bets.test')
      expect(await status()).toBe(503)
    } finally {
      await server.stop()
    }
  })

  it('that answer in another way, or never, are given up', async () => {
    for (const words of [NO_METHOD[mode], undefined]) {
      const odd = await oddGateway(words)
      try {
        await shop.apply(leaving([1, 0]), gatewayConfig(shop, [odd, gateways[1]]))
        const since = performance.now()
        expect(await ask()).toBe('503')
        expect(performance.now() - since).toBeLessThan(5_000)
        await shop.give('client', leaving([1, 1]))
        expect(await times(3)).toEqual({ west: 3 })
      } finally {
        await odd.stop()
      }
    }
  })

  it('take no more connections than they may, and one that is idle makes room', async () => {
    const slow = await slowApp()
    try {
      gateways[0].leadTo(slow.address)
      await shop.apply(leaving([1, 0], { maxConnections: 1 }), gatewayConfig(shop, gateways))
      const held = through(shop.at.proxy, 'http://books.test/')
      await shop.until(slow.held, 1, 'a request that is under way')
      expect(await ask('bets.test')).toBe('503')
      slow.release()
      expect((await held).body).toBe('whole')
      expect((await through(shop.at.proxy, 'http://bets.test/')).body).toBe('whole')
      expect(slow.connections()).toBe(2)
    } finally {
      await slow.stop()
    }
  })
})
