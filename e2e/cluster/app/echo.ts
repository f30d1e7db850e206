import { createServer, type Server } from 'node:http'
import { createServer as createHttp2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import type { Server as TcpServer } from 'node:net'
import { parseArgs } from 'node:util'
import { Connections, createApp, listen, perform, type Call, type CallAnswer } from '@osm-ts/driver-testkit/testing'
import { parseCall } from './call.js'

/** The method that clients of the suite call by gRPC, whatever their URL says. */
const GRPC_METHOD = '/proto.EchoTestService/Echo'

/** Who answers, and on which ports. */
export interface EchoPorts {
  readonly http: readonly number[]
  readonly grpc: readonly number[]
  readonly tcp: readonly number[]
}

/**
 * Reads the arguments that the manifests of the Gateway API's conformance suite give to their server. Ports with TLS are left out: no test of a mesh calls
 * them.
 */
export function parseEchoPorts(args: readonly string[]): EchoPorts {
  const list = { type: 'string', multiple: true } as const
  const { values } = parseArgs({
    args: [...args],
    options: { port: list, grpc: list, tcp: list, tls: list, crt: { type: 'string' }, key: { type: 'string' } },
  })
  const numbers = (texts: readonly string[] = []): readonly number[] => texts.map(Number)
  const http = numbers(values.port?.filter((port) => values.tls?.includes(port) !== true))
  return { http: http.length > 0 ? http : [8080], grpc: numbers(values.grpc), tcp: numbers(values.tcp) }
}

/** Serves until it is told to end, as the server of the Gateway API's conformance suite does. */
export async function serveEcho(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { http, grpc, tcp } = parseEchoPorts(args)
  const hostname = env.HOSTNAME ?? ''
  const servers: readonly (readonly [TcpServer, number])[] = [
    ...http.map((port) => [httpEcho(hostname), port] as const),
    ...grpc.map((port) => [grpcEcho(hostname), port] as const),
    ...tcp.map((port) => [createApp('tcp', { server: 'echo', instance: hostname }), port] as const),
  ]
  await Promise.all(servers.map(([server, port]) => listen(server, undefined, port)))
  process.once('SIGTERM', () => process.exit(0))
}

/** A server that answers with its name and with the request as it has arrived, one `Name=value` on a line. */
export function httpEcho(hostname: string): Server {
  return createServer({ keepAliveTimeout: 0 }, ({ method = '', url = '', rawHeaders }, response) => {
    response.setHeader('content-type', 'text/plain').end(describe({ hostname, method, path: url, rawHeaders }))
  })
}

function grpcEcho(hostname: string): TcpServer {
  return createHttp2Server().on('stream', (stream, headers) => answerGrpc(stream, headers, hostname))
}

function answerGrpc(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, hostname: string): void {
  stream.on('error', () => stream.destroy())
  stream.resume()
  stream.on('end', () => {
    const rawHeaders = Object.entries(headers).flatMap(([name, value]) => [name, String(value)])
    const message = Buffer.from(describe({ hostname, method: 'POST', path: headers[':path'] ?? '', rawHeaders }))
    const prefix = Buffer.alloc(5)
    prefix.writeUInt32BE(message.length, 1)
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(Buffer.concat([prefix, message]))
  })
}

interface Heard {
  readonly hostname: string
  readonly method: string
  readonly path: string
  /** Names and values in turn. A header with several lines is there several times. */
  readonly rawHeaders: readonly string[]
}

function describe({ hostname, method, path, rawHeaders }: Heard): string {
  const names = rawHeaders.filter((_, index) => index % 2 === 0)
  const headers = names.map((name, index) => `RequestHeader=${name}:${rawHeaders[2 * index + 1] ?? ''}`)
  return [`Hostname=${hostname}`, `Method=${method}`, `URL=${path}`, ...headers].join('\n')
}

/** Makes the calls that the suite executes in a pod as `client <URL>`, and prints the answers as it reads them. */
export async function callEcho(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      method: { type: 'string', default: 'GET' },
      header: { type: 'string', short: 'H', multiple: true, default: [] },
      count: { type: 'string', default: '1' },
    },
  })
  const call = echoCall(new URL(positionals[0] ?? ''), values)
  const connections = new Connections()
  for (let count = Number(values.count); count > 0; count -= 1) {
    const answer = await perform(call, connections)
    if (answer.error !== undefined) {
      process.stderr.write(`${answer.error}\n`)
      return 1
    }
    process.stdout.write(`${answerLines(answer)}\n\n`)
  }
  return 0
}

/** The call that the arguments of `client` stand for. A header `Host` names another authority than the URL does. */
export function echoCall(
  url: URL,
  { method, header }: { readonly method: string; readonly header: readonly string[] },
): Call {
  const isHost = (text: string): boolean => /^host:/i.test(text)
  const call = parseCall(url, { method, header: header.filter((text) => !isHost(text)), http2: false })
  const host = header.find(isHost)?.slice('host:'.length)
  if (call.kind === 'grpc') return { ...call, path: GRPC_METHOD }
  return call.kind === 'http' && host !== undefined ? { ...call, authority: host } : call
}

/** An answer in the lines that the suite reads. */
export function answerLines({ status, code, headers = {}, body = '' }: CallAnswer): string {
  const isFailed = code !== undefined && code !== 0
  const answered = Object.entries(headers).map(([name, value]) => `ResponseHeader=${name}:${value}`)
  const text = body.split('\n').filter((line) => line !== '')
  return [`StatusCode=${isFailed ? `grpc-${code}` : status}`, ...answered, ...text].join('\n')
}
