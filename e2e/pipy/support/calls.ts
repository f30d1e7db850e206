import { type IncomingHttpHeaders, request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

import type { Credential } from '@osm-ts/driver-api'

/** An answer, or why there is none. */
export interface Answer {
  readonly status: number
  readonly body: string
  readonly headers: IncomingHttpHeaders
}

/** Asks through the forward proxy of a sidecar. */
export async function through(
  proxy: string,
  url: string,
  {
    method = 'GET',
    body = '',
    headers = {},
    from = '127.0.0.1',
  }: { method?: string; body?: string; headers?: Record<string, string>; from?: string } = {},
): Promise<Answer> {
  const [host, port] = proxy.split(':')
  const { host: authority } = new URL(url)
  const outgoing = httpRequest({
    host,
    port,
    localAddress: from,
    method,
    path: url,
    headers: { host: authority, ...headers },
    agent: false,
    maxHeaderSize: 128 * 1024,
  })
  outgoing.end(body)
  return new Promise((resolve, reject) => {
    outgoing.on('error', reject)
    outgoing.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text, headers: response.headers }))
    })
  })
}

/** A caller of a served port that is no sidecar. */
export interface Intruder {
  /** Undefined: none is shown. */
  readonly credential?: Credential
  readonly serverName: string
  /** What is offered; that of the mesh if nothing is said. */
  readonly protocols?: readonly string[]
}

/** Speaks TLS to a served port by hand. Gives the head of the answer, or `closed` where the connection ended without one. */
export async function intrude(
  address: string,
  { credential, serverName, protocols = ['osm'] }: Intruder,
  text: string | Uint8Array,
): Promise<string> {
  const [host, port] = address.split(':')
  const socket = connectTls({
    host,
    port: Number(port),
    servername: serverName,
    ALPNProtocols: [...protocols],
    // What is asked here is whom the sidecar lets in.
    rejectUnauthorized: false,
    ...(credential === undefined ? {} : { cert: credential.chain, key: credential.privateKey }),
  })
  return firstWords(socket, text)
}

/** Speaks plain text to a port. */
export async function inTheClear(address: string, text: string): Promise<string> {
  const [host, port] = address.split(':')
  return firstWords(connect({ host, port: Number(port) }), text)
}

async function firstWords(socket: Socket, text: string | Uint8Array): Promise<string> {
  let words = ''
  socket.on('error', () => socket.destroy())
  socket.on('data', (data) => {
    words += data.toString()
    socket.destroy()
  })
  socket.write(text)
  socket.setTimeout(5_000, () => {
    words = 'nothing for 5 s'
    socket.destroy()
  })
  await new Promise((resolve) => socket.on('close', resolve))
  return words === '' ? 'closed' : (words.split(/\r?\n/)[0] ?? '')
}

/** An open connection with what has come over it. */
export interface Open {
  readonly socket: Socket
  readonly received: () => string
  readonly isClosed: () => boolean
}

/** Opens a connection. */
export function open(address: string): Open {
  const [host, port] = address.split(':')
  const socket = connect({ host, port: Number(port) })
  let received = ''
  let closed = false
  socket.on('data', (data) => {
    received += data.toString()
  })
  socket.on('error', () => socket.destroy())
  socket.on('close', () => {
    closed = true
  })
  return { socket, received: () => received, isClosed: () => closed }
}
