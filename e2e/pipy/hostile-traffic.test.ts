import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'

import { frame, FrameType, headerFrames, PREFACE, RawHttp2Client } from '../dataplane/support/corpus/raw-http2.js'
import { SERVICE } from './support/base-config.js'
import { inTheClear, through } from './support/calls.js'
import { clientConfig, serverConfig, withDirect } from './support/configs.js'
import { Shop } from './support/shop.js'

/** How often a caller repeats what has crashed a sidecar: of the same scripts without a check, one in 5 to 170 did. */
const REPEATS = 100

const ok = (body: string): string => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`

/** Answers by path; each goes out as it stands, and the connection stays open. */
const answers: Readonly<Record<string, string>> = {
  '/books/hints': `HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n${ok('hinted')}`,
  '/books/many-hints': `${'HTTP/1.1 102 Processing\r\n\r\n'.repeat(20)}${ok('processed')}`,
  '/books/continue': `HTTP/1.1 100 Continue\r\n\r\n${ok('continued')}`,
  '/books/two': ok('mine') + ok('stolen'),
  '/books/longer': `HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nmine${ok('stolen')}`,
  '/books/switch': 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n',
  '/books/large': 'HTTP/1.1 200 OK\r\ncontent-length: 2147483648\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
  '/books/both': `HTTP/1.1 200 OK\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n4\r\nmine\r\n0\r\n\r\n`,
  '/books/trailers': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4;x=y\r\nmine\r\n0\r\nx-sum: 1\r\n\r\n',
  '/books/700': 'HTTP/1.1 700 Odd\r\ncontent-length: 0\r\n\r\n',
  '/books/no-reason': 'HTTP/1.1 200\r\ncontent-length: 4\r\n\r\nmine',
  '/books/long-header': `HTTP/1.1 200 OK\r\nx-long: ${'x'.repeat(100_000)}\r\ncontent-length: 4\r\n\r\nmine`,
  '/books/longer-header': `HTTP/1.1 200 OK\r\nx-long: ${'x'.repeat(300_000)}\r\ncontent-length: 4\r\n\r\nmine`,
  '/books/nothing-of-http': 'SSH-2.0-OpenSSH_9.2\r\n\r\n',
}

async function rawApp(): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    let text = ''
    socket.on('data', (data) => {
      text += data.toString('latin1')
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const path = text.split(' ')[1] ?? ''
        const length = Number(/content-length: (\d+)/i.exec(text.slice(0, end))?.[1] ?? 0)
        if (text.length < end + 4 + length) return
        text = text.slice(end + 4 + length)
        socket.write(answers[path] ?? ok(path))
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

describe('hostile traffic', () => {
  let shop: Shop
  let app: Server

  beforeAll(async () => {
    shop = await Shop.open()
    app = await rawApp()
    const address = `127.0.0.1:${(app.address() as AddressInfo).port}`
    const { served = [] } = serverConfig(shop)
    const allow = [{ match: { path: { prefix: '/books' } }, callers: 'client' }]
    await shop.apply(withDirect(clientConfig(shop), address), {
      served: served.map((port) =>
        port.protocol === 'http' ? { ...port, local: address, rules: { kind: 'http', allow, limits: [] } } : port,
      ),
    })
  })
  afterAll(async () => {
    await shop.stop()
    app.close()
  })
  afterEach(() => {
    expect([shop.workers.client.hasEnded(), shop.workers.server.hasEnded()]).toEqual([false, false])
  })

  const hosts = [
    ['of a server outside of the mesh', 'direct'],
    ['of a workload behind its sidecar', 'server.demo:8080'],
  ] as const

  describe.each(hosts)('answers %s', (_where, host) => {
    const ask = (path: string) => through(shop.at.proxy, `http://${host}/books/${path}`)

    it.each([
      ['hints', 200, 'hinted'],
      ['many-hints', 200, 'processed'],
      ['continue', 200, 'continued'],
      ['two', 200, 'mine'],
      ['longer', 200, 'mine'],
      ['trailers', 200, 'mine'],
      ['no-reason', 200, 'mine'],
      ['long-header', 200, 'mine'],
      ['switch', 502, undefined],
      ['large', 502, undefined],
      ['both', 502, undefined],
      ['700', 502, undefined],
      ['longer-header', 502, undefined],
      ['nothing-of-http', 502, undefined],
    ])('never reach another caller (%s)', async (path, status, body) => {
      for (let i = 0; i < 5; i += 1) {
        const answer = await ask(path)
        expect(answer).toMatchObject({ status, ...(body === undefined ? {} : { body }) })
        expect((await ask(`next-${i}`)).body).toBe(`/books/next-${i}`)
      }
    })
  })

  it('answers that are refused are counted', async () => {
    const metrics = await (await fetch(`http://${shop.at.clientMetrics}/stats/prometheus`)).text()
    expect(metrics).toMatch(/^sidecar_http1_refused_messages_total\{kind="answer",reason="content-length"\} \d+$/m)
  })

  /** Opens a connection to the server's sidecar as the client's. */
  function open(): Socket {
    const [host, port] = shop.at.servedHttp.split(':')
    const { chain: cert, privateKey: key } = shop.issue('client')
    const socket = connectTls({
      host,
      port: Number(port),
      servername: SERVICE,
      ALPNProtocols: ['osm'],
      rejectUnauthorized: false,
      cert,
      key,
    })
    socket.on('error', () => socket.destroy())
    return socket
  }

  /** Sends bytes; gives all that comes until the sidecar closes, or until the text says that nothing more will. */
  async function talk(bytes: string, isOver: (text: string) => boolean = () => false): Promise<string> {
    const socket = open()
    let text = ''
    socket.on('data', (data) => {
      text += data.toString('latin1')
      if (isOver(text)) socket.destroy()
    })
    socket.write(Buffer.from(bytes, 'latin1'))
    await new Promise((resolve) => socket.on('close', resolve))
    return text
  }

  const head = (fields: string, line = 'POST /books/a HTTP/1.1'): string => `${line}\r\nHost: a\r\n${fields}\r\n`
  const last = head('connection: close\r\n', 'GET /books/last HTTP/1.1')

  it.each([
    ['a length of 2^31', head('content-length: 2147483648\r\n') + last, 413],
    ['a length of 2^32 + 5', head('content-length: 4294967301\r\n') + last, 413],
    ['a length of 2^64', head('content-length: 18446744073709551616\r\n') + last, 413],
    ['two hosts', `GET /books/a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n${last}`, 400],
    ['a space before the colon', head('transfer-encoding : chunked\r\n') + `0\r\n\r\n${last}`, 400],
    ['a length and chunks', head('content-length: 5\r\ntransfer-encoding: chunked\r\n') + `0\r\n\r\n${last}`, 400],
    ['another coding', head('transfer-encoding: gzip, chunked\r\n') + `0\r\n\r\n${last}`, 501],
    ['NUL in a name', head('x\0y: 1\r\n') + last, 400],
    ['a line folded', head('x: 1\r\n 2\r\n') + last, 400],
    ['CONNECT', head('', 'CONNECT a:80 HTTP/1.1') + last, 400],
    ['an unknown method', head('', 'get /books/a HTTP/1.1') + last, 501],
    ['a length of 200,000 digits', head(`content-length: ${'0'.repeat(200_000)}\r\n`) + last, 400],
    ['a character that is written too long', head('x: \xc0\xaf\r\n') + last, 400],
    ['no HTTP at all', 'hello\r\n\r\n', 400],
  ])('a request with %s is refused, and so is what follows it', async (_what, bytes, status) => {
    const text = await talk(bytes)
    expect(text.split('\r\n')[0]).toContain(` ${status} `)
    expect(text).not.toContain('/books/last')
  })

  it('a request may have lines that are longer than those that Pipy reads', async () => {
    const target = `/books/${'y'.repeat(20_000)}`
    const fields = `x-long: ${'x'.repeat(100_000)}\r\nconnection: close\r\n`
    expect(await talk(head(fields, `GET ${target} HTTP/1.1`))).toContain(`\r\n\r\n${target}`)
    expect((await through(shop.at.proxy, `http://server.demo:8080${target}`)).body).toBe(target)
  })

  it.each(['/books/\xc3\xa9', '/books/a?b=\xc3\xa9'])('a target that is not ASCII is refused (%s)', async (target) => {
    expect(await talk(head('connection: close\r\n', `GET ${target} HTTP/1.1`))).toMatch(/^HTTP\/1.1 400 /)
  })

  it.each([
    ['a target of https', 'GET https://server.demo:8080/books/a HTTP/1.1\r\nHost: server.demo:8080\r\n\r\n', 400],
    ['an empty host in its target', 'GET http:///books/a HTTP/1.1\r\nHost: server.demo:8080\r\n\r\n', 400],
    ['CONNECT', 'CONNECT server.demo:8080 HTTP/1.1\r\nHost: server.demo:8080\r\n\r\n', 400],
    ['an invalid host', 'GET /books/a HTTP/1.1\r\nHost: a@b\r\n\r\n', 400],
    ['a length of 2^31', 'POST /books/a HTTP/1.1\r\nHost: server.demo:8080\r\ncontent-length: 2147483648\r\n\r\n', 413],
    ['no HTTP at all', 'hello\r\n\r\n', 400],
    ['a target in capitals', 'GET HTTP://server.demo:8080/books/a HTTP/1.1\r\nHost: server.demo:8080\r\n\r\n', 200],
  ])('a workload that sends %s is answered by its sidecar', async (_what, bytes, status) => {
    expect(await inTheClear(shop.at.proxy, bytes)).toMatch(new RegExp(`^HTTP/1.1 ${String(status)} `))
  })

  const crashes: readonly (readonly [string, string])[] = [
    ['a trailer', head('transfer-encoding: chunked\r\n') + `1\r\nx\r\n0\r\nx-sum: 1\r\n\r\n${last}`],
    ['an extension of a chunk', head('transfer-encoding: chunked\r\n') + `1;a=b\r\nx\r\n0\r\n\r\n${last}`],
    ['an empty line behind it', head('', 'GET /books/a HTTP/1.1') + `\r\n${last}`],
    ['a coding that is unknown', head('transfer-encoding: xchunked\r\n') + `0\r\n\r\n${last}`],
    ['two codings', head('transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n') + `0\r\n\r\n${last}`],
    ['bytes that are not a request behind it', head('', 'GET /books/a HTTP/1.1') + `\0\r\n\r\n`],
  ]
  it.each(crashes)(`${REPEATS} requests with %s leave the sidecar running`, async (_what, bytes) => {
    for (let i = 0; i < REPEATS; i += 1) await talk(bytes)
    expect(await talk(last)).toContain('/books/last')
  })

  const unfinished = (type: number, size: number, ...bytes: readonly number[]): Buffer =>
    Buffer.from([size >> 16, (size >> 8) & 255, size & 255, type, 0, 0, 0, 0, 1, ...bytes])
  it.each([
    ['a frame of data', unfinished(FrameType.data, 1_000, 1, 2, 3)],
    ['a frame that is too long', unfinished(FrameType.data, 4_000_000, 1, 2, 3)],
    ['a frame of no known type', unfinished(200, 9, 1)],
    ['the head of a frame', unfinished(FrameType.data, 1_000).subarray(0, 5)],
    ['a reset of three bytes', unfinished(FrameType.resetStream, 3, 1, 2, 3)],
  ])('a connection of HTTP/2 that ends with %s leaves nothing to the next', async (_what, bytes) => {
    for (let i = 0; i < 10; i += 1) {
      const unended = open()
      await once(unended, 'secureConnect')
      unended.write(Buffer.concat([Buffer.from(PREFACE), frame(FrameType.settings, 0, 0, Buffer.alloc(0)), bytes]))
      // An answer to the settings, or the end.
      await Promise.race([once(unended, 'data'), once(unended, 'close')])
      unended.destroy()
      const next = new RawHttp2Client(async () => {
        const socket = open()
        await once(socket, 'secureConnect')
        return socket
      })
      const fields = [
        [':method', 'GET'],
        [':scheme', 'http'],
        [':path', '/books/next'],
        [':authority', 'a'],
      ] as const
      const { status, body } = await next.ask((stream) => headerFrames(fields, stream, true))
      next.close()
      expect([status, body]).toEqual([200, '/books/next'])
    }
  })

  it(`${REPEATS} callers that give up leave the sidecar running`, async () => {
    for (let i = 0; i < REPEATS; i += 1) {
      const socket = open()
      await once(socket, 'secureConnect')
      const bytes =
        [head('content-length: 9\r\n') + 'half', head('', 'GET /books/a HTTP/1.1'), 'GET /books'][i % 3] ?? ''
      await new Promise((resolve) => {
        socket.on('close', resolve)
        socket.write(bytes, () => socket.destroy())
      })
    }
    expect(await talk(last)).toContain('/books/last')
  })
})
