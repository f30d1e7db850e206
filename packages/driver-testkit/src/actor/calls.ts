import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { type ClientRequest, request as httpRequest } from 'node:http'
import { type Socket, connect } from 'node:net'
import { connect as connectTls } from 'node:tls'

import type { Call, CallAnswer, CallTls, Target } from './protocol.js'

const DEFAULT_TIMEOUT_MS = 10_000

/** Sends what is requested. Never rejects: what went wrong is an answer too. */
export async function perform(call: Exclude<Call, { readonly kind: 'tcp' | 'upgrade' | 'kept' }>): Promise<CallAnswer> {
  try {
    if (call.kind === 'grpc') return await callGrpc(call)
    return call.version === '2' ? await callHttp2(call) : await callHttp1(call)
  } catch (error) {
    return failed(error)
  }
}

/** An answer for what did not get one. */
export function failed(error: unknown): CallAnswer {
  return { status: 0, error: error instanceof Error ? error.message || String(error) : String(error) }
}

/** Opens the connection below a call, with TLS where the call requests it. */
export function openSocket(target: Target, tls: CallTls | undefined): Promise<Socket> {
  const { host, port, source, timeoutMs = DEFAULT_TIMEOUT_MS } = target
  const where = { host, port, ...(source === undefined ? {} : { localAddress: source }) }
  return new Promise((resolve, reject) => {
    const socket =
      tls === undefined
        ? connect(where)
        : connectTls({
            ...where,
            // What is tested is the mesh between; the names of its certificates are checked by what answers say of them.
            rejectUnauthorized: false,
            ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
            ...(tls.alpn === undefined ? {} : { ALPNProtocols: [...tls.alpn] }),
            ...(tls.certificate === undefined ? {} : { cert: tls.certificate.chain, key: tls.certificate.privateKey }),
            ...(tls.maxVersion === undefined ? {} : { maxVersion: tls.maxVersion }),
          })
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error('no answer in time')))
    socket.once('error', reject)
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}

type HttpCall = Extract<Call, { readonly kind: 'http' }>

async function callHttp1(call: HttpCall): Promise<CallAnswer> {
  const socket = await openSocket(call.target, call.tls)
  return new Promise((resolve) => {
    const request: ClientRequest = httpRequest({
      createConnection: () => socket,
      method: call.method,
      path: call.target.absolute ? `${call.scheme}://${call.authority}${call.path}` : call.path,
      headers: { host: call.authority, connection: 'close', ...call.headers },
    })
    request.on('error', (error) => resolve(failed(error)))
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', (error) => resolve(failed(error)))
      response.on('end', () => {
        resolve(answerOf(response.statusCode ?? 0, response.headers, Buffer.concat(chunks).toString()))
      })
    })
    request.end(call.body)
  })
}

async function callHttp2(call: HttpCall): Promise<CallAnswer> {
  return withSession(call, (session) => {
    const stream = session.request({ ...pseudoHeaders(call, call.method), ...call.headers })
    return new Promise((resolve) => {
      const chunks: Buffer[] = []
      let head: Readonly<Record<string, unknown>> = {}
      stream.on('response', (headers) => (head = headers))
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('error', (error) => resolve(failed(error)))
      stream.on('close', () => resolve(answerOf(Number(head[':status'] ?? 0), head, Buffer.concat(chunks).toString())))
      stream.end(call.body)
    })
  })
}

/** A unary call. Messages are text: nothing between client and server looks into them. */
async function callGrpc(call: Extract<Call, { readonly kind: 'grpc' }>): Promise<CallAnswer> {
  return withSession(call, (session) => {
    const stream = session.request({
      ...pseudoHeaders(call, 'POST'),
      'content-type': 'application/grpc',
      te: 'trailers',
      ...call.headers,
    })
    return new Promise((resolve) => {
      const chunks: Buffer[] = []
      let head: Readonly<Record<string, unknown>> = {}
      let trailers: Readonly<Record<string, unknown>> = {}
      stream.on('response', (headers) => (head = headers))
      // Node's type for trailers says nothing of what they are.
      stream.on('trailers', (headers: unknown) => (trailers = headers as Readonly<Record<string, unknown>>))
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('error', (error) => resolve(failed(error)))
      stream.on('close', () => {
        const code = trailers['grpc-status'] ?? head['grpc-status']
        const body = Buffer.concat(chunks).subarray(5).toString()
        const answer = answerOf(Number(head[':status'] ?? 0), head, body)
        resolve(code === undefined ? answer : { ...answer, code: Number(code) })
      })
      const message = Buffer.from(call.body ?? '')
      const prefix = Buffer.alloc(5)
      prefix.writeUInt32BE(message.length, 1)
      stream.end(Buffer.concat([prefix, message]))
    })
  })
}

async function withSession(
  call: Exclude<Call, { readonly kind: 'tcp' | 'upgrade' | 'kept' }>,
  use: (session: ClientHttp2Session) => Promise<CallAnswer>,
): Promise<CallAnswer> {
  const tls = call.tls === undefined ? undefined : { alpn: ['h2'], ...call.tls }
  const socket = await openSocket(call.target, tls)
  const session = connectHttp2(`${call.scheme}://${call.authority}`, { createConnection: () => socket })
  const broken = new Promise<CallAnswer>((resolve) => {
    session.on('error', (error) => resolve(failed(error)))
    session.on('close', () => resolve(failed(new Error('the connection was closed'))))
  })
  try {
    return await Promise.race([use(session), broken])
  } finally {
    session.destroy()
  }
}

function pseudoHeaders(
  { scheme, authority, path }: Pick<HttpCall, 'scheme' | 'authority' | 'path'>,
  method: string,
): Readonly<Record<string, string>> {
  return { ':method': method, ':scheme': scheme, ':authority': authority, ':path': path }
}

function answerOf(status: number, headers: Readonly<Record<string, unknown>>, body: string): CallAnswer {
  const plain = Object.entries(headers).filter(([name, value]) => !name.startsWith(':') && value !== undefined)
  const text = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value))
  return { status, headers: Object.fromEntries(plain.map(([name, value]) => [name, text(value)])), body }
}
