import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { type Collector, startSpanCollector } from '../dataplane/support/collector.js'
import { freeAddresses, type Seen } from './support/apps.js'
import { type Answer, through } from './support/calls.js'
import { clientConfig, serverConfig } from './support/configs.js'
import { Shop } from './support/shop.js'

const TRACE = 'a'.repeat(32)
const SPAN = 'b'.repeat(16)

/** What a collector of Zipkin is told of a request. */
interface Span {
  readonly traceId: string
  readonly id: string
  readonly parentId?: string
  readonly kind: string
  readonly shared?: boolean
  readonly localEndpoint: { readonly serviceName: string }
  readonly tags: Readonly<Record<string, string>>
}

describe('spans of real sidecars', () => {
  let shop: Shop
  let collector: Collector

  beforeAll(async () => {
    shop = await Shop.open()
    collector = await startSpanCollector()
  })
  afterAll(async () => {
    collector.stop()
    await shop.stop()
  })

  async function trace(fraction: number, address = `127.0.0.1:${collector.port}`): Promise<void> {
    const tracing = { address, path: '/api/v2/spans?key=1', fraction }
    await shop.apply({ ...clientConfig(shop), tracing }, { ...serverConfig(shop), tracing })
  }
  const call = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    through(shop.at.proxy, `http://server.demo:8080${path}`, { headers })
  const seenBy = ({ body }: Answer): Seen => JSON.parse(body) as Seen

  /** Spans of requests for a path, from the client on. */
  function spansOf(path: string): readonly Span[] {
    return collector.received
      .flatMap(({ body }) => JSON.parse(body) as readonly Span[])
      .filter(({ tags }) => tags['http.url']?.endsWith(path))
      .sort((a, b) => (a.kind < b.kind ? -1 : 1))
  }
  const until = (path: string, count: number): Promise<void> =>
    shop.until(() => spansOf(path).length, count, `${count} spans of ${path}`)

  async function metrics(): Promise<string> {
    return (await fetch(`http://${shop.at.clientMetrics}/stats/prometheus`)).text()
  }
  async function metric(name: string): Promise<number> {
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await metrics())?.[1])
  }

  it('are one trace for both sides, which the application sees in its headers', async () => {
    await trace(1)
    const { headers } = seenBy(await call('/books/both?secret=1', { 'user-agent': 'test' }))
    await until('/books/both', 2)
    const [client, server] = spansOf('/books/both')
    expect(client).toMatchObject({
      kind: 'CLIENT',
      localEndpoint: { serviceName: 'client.demo' },
      tags: {
        'http.url': 'http://server.demo:8080/books/both',
        'http.status_code': '200',
        user_agent: 'test',
        upstream_cluster: 'http',
        upstream_address: shop.at.servedHttp,
      },
    })
    expect(server).toMatchObject({
      kind: 'SERVER',
      shared: true,
      localEndpoint: { serviceName: 'server.demo' },
      traceId: client?.traceId,
      id: client?.id,
    })
    expect(client?.traceId).toMatch(/^[0-9a-f]{16}$/)
    expect(headers).toMatchObject({
      'x-b3-traceid': client?.traceId,
      'x-b3-spanid': client?.id,
      'x-b3-sampled': '1',
    })
    expect(new Set(collector.received.map(({ path }) => path))).toEqual(new Set(['/api/v2/spans?key=1']))
    expect(collector.received.map(({ body }) => body).join('')).not.toContain('secret')
  })

  it('continue with the trace of the workload, and do what it has decided', async () => {
    await trace(0)
    const wanted = { 'x-b3-traceid': TRACE, 'x-b3-spanid': SPAN, 'x-b3-sampled': '1' }
    const { headers } = seenBy(await call('/books/known', wanted))
    await until('/books/known', 2)
    const [client, server] = spansOf('/books/known')
    expect(client).toMatchObject({ traceId: TRACE, parentId: SPAN })
    expect(server).toMatchObject({ traceId: TRACE, parentId: SPAN, id: client?.id, shared: true })
    expect(headers).toMatchObject({ 'x-b3-traceid': TRACE, 'x-b3-parentspanid': SPAN, 'x-b3-spanid': client?.id })
  })

  it('are not kept where no one wants them; the trace goes on all the same', async () => {
    const before = await metric('outbound_http_tracing_sampled_0')
    await trace(0)
    const chance = seenBy(await call('/books/chance'))
    await trace(1)
    const unwanted = seenBy(await call('/books/unwanted', { b3: `${TRACE}-${SPAN}-0` }))
    // What comes later has been sent when these would have been.
    await call('/books/last')
    await until('/books/last', 2)
    expect([...spansOf('/books/chance'), ...spansOf('/books/unwanted')]).toEqual([])
    expect(chance.headers).toMatchObject({ 'x-b3-sampled': '0' })
    expect(unwanted.headers).toMatchObject({ 'x-b3-traceid': TRACE, 'x-b3-sampled': '0' })
    expect(unwanted.headers).not.toHaveProperty('b3')
    expect((await metric('outbound_http_tracing_sampled_0')) - before).toBe(2)
  })

  it('show requests that the sidecar answers itself', async () => {
    await trace(1)
    expect((await call('/forbidden')).status).toBe(403)
    await until('/forbidden', 2)
    expect(spansOf('/forbidden').map(({ tags }) => tags['http.status_code'])).toEqual(['403', '403'])
    expect((await through(shop.at.proxy, 'http://nobody.demo:8080/nobody')).status).toBe(403)
    await until('/nobody', 1)
  })

  it('that a collector does not take are counted, and hold nothing up', async () => {
    const [nowhere = ''] = await freeAddresses(1)
    await trace(1, nowhere)
    const before = await metric('sidecar_tracing_zipkin_spans_dropped')
    expect((await call('/books/nowhere')).status).toBe(200)
    await shop.until(() => metric('sidecar_tracing_zipkin_spans_dropped'), before + 1, 'a span that was dropped')
    expect(await metric('sidecar_tracing_zipkin_reports_dropped')).toBeGreaterThan(0)
    expect(await metric('sidecar_tracing_zipkin_spans_sent')).toBeGreaterThan(3)
    await trace(1)
    await call('/books/again')
    await until('/books/again', 2)
  })
})
