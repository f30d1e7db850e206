import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2'
import { connect as connectSocket, type Socket } from 'node:net'

import { Client, credentials, type StatusObject } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { PipyConfig } from '@osm-ts/driver-pipy'

import { callOver, overHttp2, withHttp2 } from '../dataplane/support/http2-call.js'
import type { Seen } from './support/apps.js'
import { SERVICE } from './support/base-config.js'
import { through } from './support/calls.js'
import { meshUpstream } from './support/configs.js'
import { grpcApp, type GrpcApp } from './support/grpc-app.js'
import { Shop } from './support/shop.js'

describe('HTTP/2 and gRPC through real sidecars', () => {
  let shop: Shop
  let app: GrpcApp

  const client = (extra: Partial<PipyConfig['upstreams'][string]> = {}): Partial<PipyConfig> => ({
    listen: { outboundHttp: shop.at.proxy, metrics: shop.at.clientMetrics },
    called: [
      {
        id: 'demo/server|8080',
        port: 8080,
        addresses: [],
        hosts: ['server.demo'],
        routes: [{ match: {}, shares: [{ upstream: 'grpc', weight: 1 }] }],
      },
    ],
    upstreams: { grpc: meshUpstream([shop.at.servedHttp], { http2: true, ...extra }) },
  })
  const server = (): Partial<PipyConfig> => ({
    served: [
      {
        id: 'demo/server|8080',
        port: 8080,
        listen: shop.at.servedHttp,
        serverNames: [SERVICE],
        local: app.address,
        protocol: 'http2',
        rules: {
          kind: 'http',
          allow: [
            { match: { path: { prefix: '/books.Store/' }, methods: ['POST'] }, callers: 'client' },
            { match: { path: { prefix: '/books/' }, methods: ['GET'] }, callers: 'client' },
          ],
          limits: [],
        },
      },
    ],
  })
  const call = (method: string, kind: 'grpc' | 'first-message' = 'grpc') =>
    overHttp2(`http://${shop.at.proxy}`, `http://server.demo:8080/${method}`, kind)

  beforeAll(async () => {
    shop = await Shop.open()
    app = await grpcApp('grpc')
    await shop.apply(client(), server())
  })
  afterAll(async () => {
    await shop.stop()
    await app.stop()
  })

  it('pass requests as they are', async () => {
    const answer = await overHttp2(`http://${shop.at.proxy}`, 'http://server.demo:8080/books/1?a=b', 'get')
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.body.toString())).toMatchObject({
      method: 'GET',
      url: '/books/1?a=b',
      headers: { ':authority': 'server.demo:8080', ':scheme': 'http' },
    })
  })

  it('pass requests of the first version of HTTP to a service that speaks the second', async () => {
    const answer = await through(shop.at.proxy, 'http://server.demo:8080/books/1')
    expect(answer.status).toBe(200)
    expect((JSON.parse(answer.body) as Seen).headers).toMatchObject({ ':authority': 'server.demo:8080' })
  })

  it('keep messages and trailers of gRPC', async () => {
    expect(await call('books.Store/Echo')).toEqual({ status: 200, code: '0', body: Buffer.alloc(5) })
    expect(await call('books.Store/Fail')).toEqual({ status: 200, code: '14', body: Buffer.alloc(5) })
    expect(await call('books.Store/Refuse')).toEqual({
      status: 200,
      code: '14',
      message: 'not now',
      body: Buffer.alloc(0),
    })
  })

  it('tell a client of gRPC the status and metadata of answers without a message', async () => {
    const options = { 'grpc.default_authority': 'server.demo:8080' }
    const caller = new Client(shop.at.proxy, credentials.createInsecure(), options)
    const status = (path: string): Promise<Partial<StatusObject>> =>
      new Promise((resolve) => {
        const bytes = (value: Buffer): Buffer => value
        caller.makeUnaryRequest(path, bytes, bytes, Buffer.alloc(0), () => undefined).on('status', resolve)
      })
    try {
      const refused = await status('/books.Store/Refuse')
      expect(refused).toMatchObject({ code: 14, details: 'not now' })
      expect(refused.metadata?.get('retry-pushback-ms')).toEqual(['-1'])
      await expect(status('/books.Store/Unknown')).resolves.toMatchObject({ code: 12, details: '' })
      await expect(status('/books.Admin/Delete')).resolves.toMatchObject({ code: 7 })
    } finally {
      caller.close()
    }
  })

  it('refuse by service and method, in the words of gRPC', async () => {
    expect(await call('books.Admin/Delete')).toMatchObject({ status: 200, code: '7' })
    expect(await overHttp2(`http://${shop.at.proxy}`, 'http://elsewhere.demo:8080/x.Y/Z', 'grpc')).toMatchObject({
      code: '7',
    })
  })

  it('pass messages of both sides as they come', async () => {
    const trailers = await withHttp2(`http://${shop.at.proxy}`, async (session) => {
      const stream = session.request({
        ':method': 'POST',
        ':authority': 'server.demo:8080',
        ':path': '/books.Store/Echo',
        'content-type': 'application/grpc',
        te: 'trailers',
      })
      let received = ''
      const last: IncomingHttpHeaders[] = []
      stream.on('data', (data: Buffer) => (received += data.toString()))
      stream.on('trailers', (headers: IncomingHttpHeaders) => last.push(headers))
      for (const word of ['one', 'two', 'three']) {
        stream.write(word)
        await shop.until(() => received.endsWith(word), true, `the word ${word}`)
      }
      stream.end()
      await shop.until(() => stream.closed, true, 'the end')
      return last
    })
    expect(trailers).toMatchObject([{ 'grpc-status': '0', 'x-last': 'word' }])
  })

  it('tell the server of a caller that gives up', async () => {
    const before = app.cancelled()
    await call('books.Store/Hold', 'first-message')
    await shop.until(() => app.cancelled() > before, true, 'the cancellation')
    await shop.until(app.open, 0, 'the end of the stream')
  })

  it.each<[string, (session: ClientHttp2Session, socket: Socket) => void]>([
    ['sends GOAWAY', (session) => session.destroy()],
    ['vanishes', (_session, socket) => socket.destroy()],
  ])('end the calls of a caller that %s, and those of no one else', async (_how, leave) => {
    const headers = (method: string) => ({
      ':method': 'POST',
      ':authority': 'server.demo:8080',
      ':path': `/books.Store/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    await withHttp2(`http://${shop.at.proxy}`, async (stays) => {
      let received = ''
      const kept = stays.request(headers('Echo')).on('error', () => undefined)
      kept.on('data', (data: Buffer) => (received += data.toString()))
      kept.write('one')
      await shop.until(() => received, 'one', 'the first word')
      const socket = connectSocket(Number(shop.at.proxy.split(':')[1]), '127.0.0.1').on('error', () => undefined)
      const leaves = connect(`http://${shop.at.proxy}`, { createConnection: () => socket }).on('error', () => undefined)
      leaves.request(headers('Hold')).on('error', () => undefined)
      await shop.until(app.open, 2, 'the second call')
      leave(leaves, socket)
      await new Promise((resolve) => socket.on('close', resolve))
      const again = await call('books.Store/Echo')
      expect(again.code).toBe('0')
      kept.write('two')
      await shop.until(() => received, 'onetwo', 'the second word')
    })
    await shop.until(app.open, 0, 'the end of both calls')
  })

  it('answer many calls at a time over one connection', async () => {
    const codes = await withHttp2(`http://${shop.at.proxy}`, (session) =>
      Promise.all(
        Array.from({ length: 200 }, () => callOver(session, 'http://server.demo:8080/books.Store/Echo', 'grpc')),
      ),
    )
    expect(new Set(codes.map(({ code }) => code))).toEqual(new Set(['0']))
  })

  it('choose where to by service and method', async () => {
    const [service] = client().called ?? []
    if (service === undefined) throw new Error('the client calls a service')
    const routes = [
      { match: { path: { prefix: '/books.Store/' } }, shares: [{ upstream: 'grpc', weight: 1 }] },
      { match: { path: { exact: '/books.Admin/Echo' } }, shares: [] },
    ]
    await shop.give('client', { ...client(), called: [{ ...service, routes }] })
    expect(await call('books.Store/Echo')).toMatchObject({ code: '0' })
    expect(await call('books.Admin/Echo')).toMatchObject({ code: '14', message: 'no upstream' })
    expect(await call('books.Other/Echo')).toMatchObject({ code: '12', message: 'no such route' })
    await shop.give('client', client())
  })

  it('open a circuit on what trailers say', async () => {
    const breaker = { windowMs: 60_000, minRequests: 3, openMs: 60_000, errorRatio: 1, status: 503, body: 'later' }
    await shop.give('client', client({ breaker }))
    const codes = []
    for (let i = 0; i < 5; i += 1) codes.push(await call('books.Store/Fail'))
    expect(codes.map(({ message }) => message)).toEqual([undefined, undefined, undefined, 'later', 'later'])
  })

  it('say that a server is away, and find it again', async () => {
    await shop.give('client', { ...client(), upstreams: { grpc: meshUpstream(['127.0.0.1:1'], { http2: true }) } })
    expect(await call('books.Store/Echo')).toMatchObject({ code: '14' })
    await shop.give('client', client())
    expect(await call('books.Store/Echo')).toMatchObject({ code: '0' })
  })
})
