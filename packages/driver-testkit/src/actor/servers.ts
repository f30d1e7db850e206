import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http'
import {
  createServer as createHttp2Server,
  createSecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer, type Server } from 'node:net'

import { connectProxy } from './connect-proxy.js'
import type { App, Certificate } from './protocol.js'
import { socksProxy } from './socks-proxy.js'

/** Who answers: the actor's name, and the instance where there are several. */
export interface Speaker {
  readonly server: string
  readonly instance: string
}

/**
 * Connections that no one uses stay open. A server that ends them loses the request that is on its way at that moment, whatever stands
 * between it and its caller, and tests count such requests.
 */
const withoutKeepAliveTimeout = { keepAliveTimeout: 0 }

/** A server that tells what it was asked, in the way of the application. It does not listen yet. */
export function createApp(app: App, speaker: Speaker, certificate?: Certificate): Server {
  const tls = (): { cert: string; key: string } => {
    if (certificate === undefined) throw new Error(`${speaker.server} serves ${app} and needs a certificate`)
    return { cert: certificate.chain, key: certificate.privateKey }
  }
  const turns: Turns = { taken: 0 }
  switch (app) {
    case 'http':
      return withUpgrades(
        createServer(withoutKeepAliveTimeout, (request, response) => tell(request, response, speaker, turns)),
      )
    case 'https':
      return withUpgrades(
        createHttpsServer({ ...tls(), ...withoutKeepAliveTimeout }, (request, response) =>
          tell(request, response, speaker, turns),
        ),
      )
    case 'http2':
    case 'grpc':
      return createHttp2Server().on('stream', (stream, headers) => answerStream(stream, headers, speaker))
    case 'grpc-tls':
      return createSecureServer(tls()).on('stream', (stream, headers) => answerStream(stream, headers, speaker))
    case 'tcp':
      return echo()
    case 'tcp-server-first':
      return echo(`220 ${speaker.server}`)
    case 'connect-proxy':
      return connectProxy()
    case 'socks-proxy':
      return socksProxy()
  }
}

/** Listens, and gives the port. Without a host: on every address of either family. */
export function listen(server: Server, host: string | undefined, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...(host !== undefined && { host }), port }, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })
}

/** What a kubelet asks by gRPC, and the answer that all is well: field 1 of the message, the status SERVING. */
const healthCheck = '/grpc.health.v1.Health/Check'
const serving = Buffer.from([8, 1])

/** How many requests a server has been asked to be flaky for. */
interface Turns {
  taken: number
}

function tell(request: IncomingMessage, response: ServerResponse, speaker: Speaker, turns: Turns): void {
  const wishes = new URLSearchParams((request.url ?? '').split('?')[1])
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    // `?status=`, `?delay=` and `?flaky=` let a scenario choose what the server does.
    const flaky = Number(wishes.get('flaky') ?? 0)
    if (flaky > 0) turns.taken += 1
    const status = Number(wishes.get('status') ?? (flaky === 0 || turns.taken % (flaky + 1) === 0 ? 200 : 503))
    setTimeout(
      () => {
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(
          JSON.stringify({
            ...speaker,
            method: request.method,
            path: request.url,
            host: request.headers.host,
            version: request.httpVersion,
            headers: request.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        )
      },
      Number(wishes.get('delay') ?? 0),
    )
  })
}

/** How servers prove that they speak the protocol (RFC 6455, 4.2.2); some proxies check it. */
function acceptOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
}

function withUpgrades(server: HttpServer): HttpServer {
  return server.on('upgrade', (request, socket) => {
    socket.on('error', () => socket.destroy())
    const { upgrade: protocol = 'websocket', 'sec-websocket-key': key } = request.headers
    const accept = key === undefined ? '' : `Sec-WebSocket-Accept: ${acceptOf(key)}\r\n`
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n${accept}\r\n`)
    socket.pipe(socket)
  })
}

function answerStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, speaker: Speaker): void {
  const isGrpc = headers['content-type']?.startsWith('application/grpc') === true
  const chunks: Buffer[] = []
  stream.on('error', () => stream.destroy())
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  stream.on('end', () => {
    const body = Buffer.concat(chunks)
      .subarray(isGrpc ? 5 : 0)
      .toString()
    const plain = Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(':')))
    const text = JSON.stringify({
      ...speaker,
      method: headers[':method'],
      path: headers[':path'],
      host: headers[':authority'],
      version: '2.0',
      headers: plain,
      body,
    })
    if (!isGrpc) {
      stream.respond({ ':status': 200, 'content-type': 'application/json' })
      stream.end(text)
      return
    }
    const message = headers[':path'] === healthCheck ? serving : Buffer.from(text)
    const prefix = Buffer.alloc(5)
    prefix.writeUInt32BE(message.length, 1)
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(Buffer.concat([prefix, message]))
  })
}

function echo(banner?: string): Server {
  return createTcpServer((socket) => {
    socket.on('error', () => socket.destroy())
    if (banner !== undefined) socket.write(`${banner}\n`)
    socket.pipe(socket)
  })
}
