import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { PipyConfig } from '@osm-ts/driver-pipy'

import type { Seen } from './support/apps.js'
import { type Answer, through } from './support/calls.js'
import { clientConfig, serverConfig } from './support/configs.js'
import { Shop } from './support/shop.js'

type RemoteLog = NonNullable<PipyConfig['remoteLog']>

const TRACE = 'a'.repeat(16)
const SPAN = 'b'.repeat(16)
const KEY = 'egress/remote-logging'

/** A record, as far as the tests look at it. */
interface Logged {
  readonly type: string
  readonly meshName: string
  readonly reqTime: number
  readonly resTime: number
  readonly endTime: number
  readonly pod: Readonly<Record<string, string>>
  readonly service: Readonly<Record<string, unknown>>
  readonly trace: Readonly<Record<string, string>>
  readonly req: {
    readonly path: string
    readonly headers: Readonly<Record<string, unknown>>
    readonly reqSize: number
    readonly body: string
  }
  readonly res: { readonly status: number; readonly resSize: number; readonly body: string }
}

/** What a collector was sent, and what it answers. */
interface Post {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly records: readonly Logged[]
}

describe('records of requests by real sidecars', () => {
  let shop: Shop
  let collector: Server
  let posts: Post[] = []
  let answers: number[] = []

  beforeAll(async () => {
    shop = await Shop.open()
    collector = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const records = JSON.parse(Buffer.concat(chunks).toString()) as readonly Logged[]
        posts.push({ path: request.url ?? '', headers: request.headers, records })
        response.writeHead(answers.shift() ?? 200).end()
      })
    })
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  })
  beforeEach(() => {
    posts = []
    answers = []
  })
  afterEach(async () => {
    await shop.apply(clientConfig(shop), serverConfig(shop))
  })
  afterAll(async () => {
    collector.closeAllConnections()
    collector.close()
    await shop.stop()
  })

  const settings = (changes: Partial<RemoteLog> = {}): RemoteLog => ({
    address: `127.0.0.1:${(collector.address() as AddressInfo).port}`,
    path: '/?query=insert%20into%20log',
    level: 0,
    fraction: 1,
    meshName: 'osm-test',
    workloadAddress: '10.0.0.9',
    ...changes,
  })
  const log = (changes: Partial<RemoteLog> = {}): Promise<void> => {
    const remoteLog = settings(changes)
    return shop.apply({ ...clientConfig(shop), remoteLog }, { ...serverConfig(shop), remoteLog })
  }
  const call = (path: string, options: Parameters<typeof through>[2] = {}): Promise<Answer> =>
    through(shop.at.proxy, `http://server.demo:8080${path}`, options)
  const seenBy = ({ body }: Answer): Seen => JSON.parse(body) as Seen
  /** Records of requests for a path, that of the server first. */
  const recordsOf = (path: string): readonly Logged[] =>
    posts
      .flatMap(({ records }) => records)
      .filter(({ req }) => req.path.startsWith(path))
      .sort((a, b) => (a.type < b.type ? -1 : 1))
  const until = (path: string, count: number): Promise<void> =>
    shop.until(() => recordsOf(path).length, count, `${count} records of ${path}`)
  async function metric(name: string): Promise<number> {
    const text = await (await fetch(`http://${shop.at.clientMetrics}/stats/prometheus`)).text()
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
  }

  it('say on both sides what was asked and answered, and no proof of who somebody is', async () => {
    await log()
    const before = Date.now()
    const sent = await call('/books/1?a=b', { headers: { authorization: 'Bearer shibboleth', 'x-mine': 'yes' } })
    expect(sent.status).toBe(200)
    await until('/books/1?a=b', 2)
    const [server, client] = recordsOf('/books/1?a=b')
    expect(server).toMatchObject({
      type: 'inbound',
      meshName: 'osm-test',
      pod: { ns: 'demo', ip: '10.0.0.9', name: 'server-0' },
      service: { name: 'demo/server|8080', target: shop.apps.http.address, ingressMode: false, egressMode: false },
      req: { method: 'GET', headers: { 'x-mine': 'yes', authorization: '[redacted]' } },
      res: { status: 200 },
    })
    expect(client).toMatchObject({
      type: 'outbound',
      pod: { name: 'client-0' },
      service: { name: 'demo/server|8080', target: shop.at.servedHttp, egressMode: false },
    })
    for (const { reqTime, resTime, endTime, res } of [server, client] as readonly Logged[]) {
      expect([before <= reqTime, reqTime <= resTime, resTime <= endTime, endTime <= Date.now()]).toEqual([
        true,
        true,
        true,
        true,
      ])
      expect(Buffer.from(res.body, 'base64').toString()).toBe(sent.body)
      expect(res.resSize).toBe(sent.body.length)
    }
    expect(JSON.stringify(posts)).not.toContain('shibboleth')
    expect(posts[0]).toMatchObject({
      path: '/?query=insert%20into%20log',
      headers: { 'content-type': 'application/json' },
    })
    expect(posts[0]?.headers).not.toHaveProperty('authorization')
  })

  it('keep the beginning of large bodies, and count all of them', async () => {
    await log()
    const body = 'x'.repeat(100_000)
    await call('/books/large', { method: 'POST', body })
    await until('/books/large', 2)
    // The server's side refuses the method; the client's has sent the request all the same.
    const client = recordsOf('/books/large')[1]
    expect(client?.req.reqSize).toBe(100_000)
    expect(Buffer.from(client?.req.body ?? '', 'base64').toString()).toBe('x'.repeat(4096))
  })

  it.each([
    [0, {}, [undefined, undefined], ['', '']],
    [1, {}, [expect.any(String), undefined], [expect.any(String), '']],
    [2, {}, [expect.any(String), undefined], [expect.any(String), expect.any(String)]],
  ] as const)('give requests a trace at level %d where they have none', async (level, headers, inApp, inRecords) => {
    await log({ level })
    const path = `/books/level-${level}`
    const seen = seenBy(await call(path, { headers })).headers
    await until(path, 2)
    expect([seen['x-b3-traceid'], seen['x-b3-sampled']]).toEqual(inApp)
    const [server, client] = recordsOf(path)
    expect([server?.trace.id, client?.trace.id]).toEqual(inRecords)
    expect(server?.trace.id).toBe(seen['x-b3-traceid'] ?? '')
    if (level === 2) expect(client?.trace.id).toBe(server?.trace.id)
  })

  it('keep the trace that a request has, with its own span on the way out at level 2', async () => {
    const headers = { 'x-b3-traceid': TRACE, 'x-b3-spanid': SPAN, 'x-b3-sampled': '1' }
    await log({ level: 1 })
    expect(seenBy(await call('/books/kept-1', { headers })).headers).toMatchObject(headers)
    await log({ level: 2 })
    const seen = seenBy(await call('/books/kept-2', { headers })).headers
    expect(seen).toMatchObject({ 'x-b3-traceid': TRACE, 'x-b3-parentspanid': SPAN, 'x-b3-sampled': '1' })
    expect(seen['x-b3-spanid']).not.toBe(SPAN)
    await until('/books/kept-2', 2)
    for (const { trace } of recordsOf('/books/kept-2'))
      expect(trace).toEqual({ id: TRACE, span: seen['x-b3-spanid'], parent: SPAN, sampled: '1' })
  })

  it('are those of a share of all traces, on both sides', async () => {
    await log({ level: 2, fraction: 0.5 })
    for (let i = 0; i < 40; i += 1) await call(`/books/share-${i}`)
    await log({ level: 2, fraction: 0 })
    await call('/books/share-none')
    await log({ level: 2, fraction: 1 })
    await call('/books/share-last')
    await until('/books/share-last', 2)
    const counts = Array.from(
      { length: 40 },
      (_, i) => recordsOf(`/books/share-${i}`).filter(({ req }) => req.path === `/books/share-${i}`).length,
    )
    expect(new Set(counts)).toEqual(new Set([0, 2]))
    expect(recordsOf('/books/share-none')).toEqual([])
  })

  it('show the collector what it asks for, no one else, and go nowhere without it', async () => {
    const config = { ...clientConfig(shop), remoteLog: settings({ authorization: KEY }) }
    const give = (value: string | undefined) =>
      shop.give('client', config, shop.issue('client'), value === undefined ? {} : { [KEY]: { headerValue: value } })
    await give('Basic first-shibboleth')
    await call('/books/first')
    await until('/books/first', 1)
    await give('Basic second-shibboleth')
    await call('/books/second')
    await until('/books/second', 1)
    expect(posts.map(({ headers }) => headers.authorization)).toEqual([
      'Basic first-shibboleth',
      'Basic second-shibboleth',
    ])
    const dropped = await metric('sidecar_remote_logging_records_dropped')
    await give(undefined)
    await call('/books/third')
    await shop.until(() => metric('sidecar_remote_logging_records_dropped'), dropped + 1, 'a record that is lost')
    await give('Basic third-shibboleth')
    await call('/books/fourth')
    await until('/books/fourth', 1)
    expect(recordsOf('/books/third')).toEqual([])
    expect(shop.workers.client.output()).not.toContain('shibboleth')
    for (const path of ['/stats', '/stats/prometheus', '/certs'])
      expect(await (await fetch(`http://${shop.at.clientAdmin}${path}`)).text()).not.toContain('shibboleth')
  })

  it('are sent again, and then lost and counted, where a collector does not take them', async () => {
    await shop.give('client', { ...clientConfig(shop), remoteLog: settings() })
    const sent = await metric('sidecar_remote_logging_records_sent')
    const dropped = await metric('sidecar_remote_logging_records_dropped')
    answers = [503]
    await call('/books/again')
    await shop.until(() => metric('sidecar_remote_logging_records_sent'), sent + 1, 'a record that was taken')
    expect(posts).toHaveLength(2)
    answers = [503, 503, 503]
    await call('/books/lost')
    await shop.until(() => metric('sidecar_remote_logging_records_dropped'), dropped + 1, 'a record that is lost')
    expect(posts).toHaveLength(5)
    expect(await metric('sidecar_remote_logging_reports_dropped')).toBeGreaterThan(0)
  })
})
