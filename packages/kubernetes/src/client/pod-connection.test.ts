import { createHash } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import http from 'node:http'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import type { ClusterAccess } from './cluster-access.js'
import { connectToPod } from './pod-connection.js'
import { RestApi } from './rest-api.js'
import { Transport } from './transport.js'

const pod = { namespace: 'shop', name: 'till' }
const port = 15_000
const { signal } = new AbortController()

/** A message of the kubelet: bytes behind the number of a channel. */
function frame(channel: number, ...parts: readonly (string | Buffer)[]): Buffer {
  const payload = Buffer.concat([Buffer.of(channel), ...parts.map((part) => Buffer.from(part))])
  const head =
    payload.length < 126
      ? Buffer.of(0x82, payload.length)
      : Buffer.of(0x82, 126, payload.length >> 8, payload.length & 0xff)
  return Buffer.concat([head, payload])
}

/** What a client sends in a short frame, unmasked. */
function payloadOf(message: Buffer): Buffer {
  const size = message.readUInt8(1) & 0x7f
  const start = size === 126 ? 4 : 2
  const mask = message.subarray(start, start + 4)
  return Buffer.from(message.subarray(start + 4).map((byte, index) => byte ^ (mask[index % 4] ?? 0)))
}

const portBytes = Buffer.from(Uint16Array.of(port).buffer)

// The cluster tests show it on real kubelets. This one stands for those that complain, which no healthy one does at will.
describe('a connection to a port of a pod', () => {
  let server: Server
  let transport: Transport
  let onOpen: (socket: Socket) => void
  let asked: http.IncomingMessage | undefined
  let plainAnswer = { status: 400, body: {} }
  const sockets = new Set<Socket>()

  const connect = () => connectToPod({ transport, api: new RestApi(transport) }, pod, port, signal)

  beforeEach(async () => {
    onOpen = (socket) => socket.write(Buffer.concat([frame(0, portBytes), frame(1, portBytes)]))
    server = createServer((_request, response) => {
      response.writeHead(plainAnswer.status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(plainAnswer.body))
    })
    server.on('connection', (socket: Socket) => sockets.add(socket))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const access: ClusterAccess = {
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}/base`,
      credentials: async () => ({ headers: { authorization: 'Bearer mine' }, tls: {} }),
    }
    transport = new Transport(access, 'test', await import('undici'))
  })

  afterEach(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })

  const accept = (): void => {
    server.on('upgrade', (request, socket) => {
      asked = request
      const key = `${request.headers['sec-websocket-key'] ?? ''}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
      const accepted = createHash('sha1').update(key).digest('base64')
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n' +
          `sec-websocket-accept: ${accepted}\r\nsec-websocket-protocol: v4.channel.k8s.io\r\n\r\n`,
      )
      onOpen(socket as Socket)
    })
  }

  it('carries a request and its answer, whose end is the end of the connection', async () => {
    accept()
    const body = 'x'.repeat(40_000)
    onOpen = (socket) => {
      socket.write(Buffer.concat([frame(0, portBytes), frame(1, portBytes)]))
      socket.once('data', (message: Buffer) => {
        expect(payloadOf(message).toString()).toMatch(/^\0GET \/ready HTTP\/1\.1\r\n/)
        socket.write(Buffer.concat([frame(0, 'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n'), frame(0, body)]))
        socket.end(Buffer.of(0x88, 0))
      })
    }
    const connection = await connect()
    const text = await new Promise<string>((resolve, reject) => {
      http
        .get('http://localhost/ready', { createConnection: () => connection }, (response) => {
          let read = ''
          response.setEncoding('utf8').on('data', (chunk: string) => (read += chunk))
          response.on('end', () => resolve(read))
        })
        .on('error', reject)
    })
    expect(text).toBe(body)
    expect(asked?.url).toBe('/base/api/v1/namespaces/shop/pods/till/portforward?ports=15000')
    expect(asked?.headers).toMatchObject({ authorization: 'Bearer mine', 'user-agent': 'test' })
  })

  it('breaks with what the kubelet complains of', async () => {
    accept()
    onOpen = (socket) => {
      socket.write(Buffer.concat([frame(0, portBytes), frame(1, portBytes)]))
      socket.once('data', () => socket.write(frame(1, 'connection refused\n')))
    }
    const connection = await connect()
    const failed = new Promise((resolve) => connection.once('error', resolve))
    connection.write('hello')
    await expect(failed).resolves.toMatchObject({
      code: 'OSM_KUBERNETES_UNREACHABLE',
      message: 'port-forward to port 15000 of Pod shop/till: connection refused',
    })
  })

  it('is refused in the words of the API server', async () => {
    const message = 'pods "till" is forbidden: User "guest" cannot get resource "pods/portforward"'
    plainAnswer = { status: 403, body: { kind: 'Status', reason: 'Forbidden', message } }
    await expect(connect()).rejects.toMatchObject({
      code: 'OSM_KUBERNETES_FORBIDDEN',
      message: expect.stringContaining(message),
    })
    plainAnswer = { status: 404, body: {} }
    await expect(connect()).rejects.toMatchObject({ code: 'OSM_KUBERNETES_NOT_FOUND' })
  })

  it('ends with the signal, before it is there and after', async () => {
    const before = new AbortController()
    server.on('upgrade', () => before.abort(new Error('enough')))
    const waiting = connectToPod({ transport, api: new RestApi(transport) }, pod, port, before.signal)
    await expect(waiting).rejects.toThrow('enough')
    server.removeAllListeners('upgrade')

    accept()
    const after = new AbortController()
    const connection = await connectToPod({ transport, api: new RestApi(transport) }, pod, port, after.signal)
    const failed = new Promise((resolve) => connection.once('error', resolve))
    after.abort(new Error('enough again'))
    await expect(failed).resolves.toMatchObject({ message: 'enough again' })
  })
})
