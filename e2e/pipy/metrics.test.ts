import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { freeAddresses, type SlowApp, slowApp } from './support/apps.js'
import { open, through } from './support/calls.js'
import { clientConfig, meshUpstream, serverConfig } from './support/configs.js'
import { Shop } from './support/shop.js'

const retries = { on: ['5xx', 'connect-failure'], times: 1, backoffMs: 1 }

describe('metrics of a real sidecar', () => {
  let shop: Shop
  let slow: SlowApp

  beforeAll(async () => {
    shop = await Shop.open()
    slow = await slowApp()
  })
  afterAll(async () => {
    await slow.stop()
    await shop.stop()
  })

  const get = (path: string): Promise<number> =>
    through(shop.at.proxy, `http://server.demo:8080${path}`).then(({ status }) => status)

  async function metrics(address: string, path = '/stats/prometheus'): Promise<ReadonlyMap<string, number>> {
    const text = await (await fetch(`http://${address}${path}`)).text()
    return new Map(
      [...text.matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm)].map(([, name = '', value]) => [name, Number(value)]),
    )
  }

  /** What a metric of an upstream of the client says; 0 while there is none. */
  async function upstream(name: string, id: string, label = ''): Promise<number> {
    const all = await metrics(shop.at.clientMetrics)
    return all.get(`sidecar_cluster_${name}{${label}sidecar_cluster_name="${id}"}`) ?? 0
  }

  it('count requests, their answers, bytes and connections', async () => {
    await shop.apply(clientConfig(shop), serverConfig(shop))
    expect([await get('/books'), await get('/books'), await get('/forbidden')]).toEqual([200, 200, 403])
    const found = await metrics(shop.at.clientMetrics)
    const name = 'sidecar_cluster_name="http"'
    expect(Object.fromEntries(found)).toMatchObject({
      sidecar_server_live: 1,
      [`sidecar_cluster_upstream_rq_total{${name}}`]: 3,
      [`sidecar_cluster_upstream_rq_xx{sidecar_response_code_class="2",${name}}`]: 2,
      [`sidecar_cluster_external_upstream_rq{sidecar_response_code="403",${name}}`]: 1,
      [`sidecar_cluster_external_upstream_rq_completed{${name}}`]: 3,
      [`sidecar_cluster_upstream_cx_active{${name}}`]: 1,
      [`sidecar_cluster_upstream_rq_retry{${name}}`]: 0,
    })
    // A handshake with certificates is more than what was asked.
    expect(await upstream('upstream_cx_tx_bytes_total', 'http')).toBeGreaterThan(1_000)
    expect(await upstream('upstream_cx_rx_bytes_total', 'http')).toBeGreaterThan(1_000)
  })

  it('count TCP connections while they are open', async () => {
    const { socket, received } = open(shop.at.clientTcp)
    await shop.until(received, 'hello\n', 'the greeting')
    expect(await upstream('upstream_cx_active', 'tcp')).toBe(1)
    socket.destroy()
    await shop.until(() => upstream('upstream_cx_active', 'tcp'), 0, 'no connection')
  })

  it('count tries, and what has come of them', async () => {
    const client = clientConfig(shop)
    const [nowhere = ''] = await freeAddresses(1)
    const called = (client.called ?? []).map((service) => ({ ...service, retries }))
    const half = meshUpstream([nowhere, shop.at.servedHttp], { connectTimeoutMs: 500 })
    await shop.give('client', { ...client, called, upstreams: { ...client.upstreams, http: half } })
    const before = await upstream('upstream_rq_total', 'http')
    // The first of two turns leads to no one.
    expect([await get('/books'), await get('/books')]).toEqual([200, 200])
    expect(await upstream('upstream_rq_retry_success', 'http')).toBe(1)
    expect(await upstream('upstream_rq_retry', 'http')).toBe(1)
    expect(await upstream('upstream_rq_retry_backoff_exponential', 'http')).toBe(1)
    expect(await upstream('upstream_rq_pending_failure_eject', 'http')).toBe(1)
    expect((await upstream('upstream_rq_total', 'http')) - before).toBe(3)
    expect(await get('/books?status=503')).toBe(503)
    expect(await upstream('upstream_rq_retry_limit_exceeded', 'http')).toBe(1)
    const none = meshUpstream([shop.at.servedHttp], { maxRetries: 0 })
    await shop.give('client', { ...client, called, upstreams: { ...client.upstreams, http: none } })
    expect(await get('/books?status=503')).toBe(503)
    expect(await upstream('upstream_rq_retry_overflow', 'http')).toBe(1)
  })

  it('count requests that take too long, may not wait, or are broken off', async () => {
    const client = clientConfig(shop)
    const [service] = client.called ?? []
    if (service === undefined) throw new Error('the client calls an HTTP port')
    const plain = {
      ...meshUpstream([slow.address]),
      tls: undefined,
      maxConnections: 1,
      maxPending: 0,
    }
    const { tls, ...upstreamOfSlow } = plain
    expect(tls).toBeUndefined()
    const route = { match: {}, shares: [{ upstream: 'slow', weight: 1 }], timeoutMs: 400 }
    const called = [{ ...service, routes: [route] }]
    const roomy = { ...upstreamOfSlow, maxPending: 5 }
    const { maxPending, ...wide } = roomy
    expect(maxPending).toBe(5)
    await shop.give('client', { ...client, called, upstreams: { slow: wide } })
    expect(await get('/never')).toBe(504)
    expect(await upstream('upstream_rq_timeout', 'slow')).toBe(1)
    expect(await upstream('upstream_rq_tx_reset', 'slow')).toBe(1)
    await shop.until(() => upstream('upstream_cx_destroy_local_with_active_rq', 'slow'), 1, 'a connection that was cut')
    await shop.give('client', { ...client, called, upstreams: { slow: upstreamOfSlow } })
    expect(await get('/refused')).toBe(503)
    expect(await upstream('upstream_rq_pending_overflow', 'slow')).toBe(1)
  })

  it('count connections that an upstream breaks', async () => {
    const client = clientConfig(shop)
    const [service] = client.called ?? []
    if (service === undefined) throw new Error('the client calls an HTTP port')
    const breaking = await slowApp()
    const { tls, ...upstreamOfApp } = meshUpstream([breaking.address])
    expect(tls).toBeDefined()
    const called = [{ ...service, routes: [{ match: {}, shares: [{ upstream: 'breaking', weight: 1 }] }] }]
    await shop.give('client', { ...client, called, upstreams: { breaking: upstreamOfApp } })
    const answer = get('/held')
    await shop.until(breaking.held, 1, 'the request')
    await breaking.stop()
    expect(await answer).toBe(503)
    expect(await upstream('upstream_rq_rx_reset', 'breaking')).toBe(1)
    expect(await upstream('upstream_cx_destroy_remote_with_active_rq', 'breaking')).toBe(1)
  })

  it('count what limits let through and what not', async () => {
    const server = serverConfig(shop)
    const bucket = { tokens: 1, intervalMs: 60_000, burst: 0 }
    const served = (server.served ?? []).map((port) =>
      port.protocol === 'tcp'
        ? { ...port, connectionLimit: bucket }
        : { ...port, requestLimit: { bucket, status: 429, headers: [] } },
    )
    await shop.apply(clientConfig(shop), { ...server, served, listen: { metrics: shop.at.lateHttp } })
    expect([await get('/books'), await get('/books')]).toEqual([200, 429])
    const first = open(shop.at.clientTcp)
    await shop.until(first.received, 'hello\n', 'the greeting')
    const second = open(shop.at.clientTcp)
    await shop.until(second.isClosed, true, 'a connection that came too soon')
    first.socket.destroy()
    expect(Object.fromEntries(await metrics(shop.at.lateHttp))).toMatchObject({
      'http_local_rate_limiter{http_local_rate_limit="enabled"}': 2,
      'http_local_rate_limiter{http_local_rate_limit="ok"}': 1,
      'http_local_rate_limiter{http_local_rate_limit="rate_limited"}': 1,
      'sidecar_local_rate_limit_inbound{label="demo/server|9000"}': 1,
    })
  })
})
