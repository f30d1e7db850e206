import { isIP } from 'node:net'
import { parseArgs } from 'node:util'
import { Connections, perform, type Call } from '@osm-ts/driver-testkit/testing'

const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/** Makes one call, prints the answer as a line of JSON, and gives exit code 0 if there was one. */
export async function call(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      method: { type: 'string', default: 'GET' },
      header: { type: 'string', multiple: true, default: [] },
      body: { type: 'string' },
      http2: { type: 'boolean', default: false },
      send: { type: 'string' },
    },
  })
  const [target, ...more] = positionals
  if (target === undefined || more.length > 0)
    throw new Error('expected one URL, such as http://shop:8080/books or tcp://shop:9000')
  const connections = new Connections()
  const answer = await perform(parseCall(new URL(target), values), connections)
  connections.close()
  process.stdout.write(`${JSON.stringify(answer)}\n`)
  return answer.error === undefined ? 0 : 1
}

/** What a call can be given besides its URL. */
export interface CallSettings {
  readonly method: string
  /** `name: value` */
  readonly header: readonly string[]
  readonly body?: string | undefined
  readonly http2: boolean
  /** For `tcp`: the line to send. Without it, the line that the server says first is read. */
  readonly send?: string | undefined
  /** Milliseconds of silence after which there is no answer. */
  readonly timeoutMs?: number
}

/** The call that a URL stands for: `http`, `https`, `grpc`, `grpcs` or `tcp`. */
export function parseCall(url: URL, { method, header, body, http2, send, timeoutMs }: CallSettings): Call {
  const { protocol } = url
  // URLs have IPv6 addresses in brackets, sockets have not.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const port = url.port === '' ? defaultPorts[protocol] : Number(url.port)
  if (port === undefined) throw new Error(`${url.href} names no port`)
  const target = { host, port, ...(timeoutMs !== undefined && { timeoutMs }) }
  if (protocol === 'tcp:') return { kind: 'tcp', target, ...(send !== undefined && { send }) }
  const scheme = protocol === 'https:' || protocol === 'grpcs:' ? ('https' as const) : ('http' as const)
  const request = {
    target,
    scheme,
    authority: url.host,
    path: `${url.pathname}${url.search}`,
    headers: Object.fromEntries(header.map(splitHeader)),
    ...(body !== undefined && { body }),
    // Clients say in TLS which name they ask for, if it is one.
    ...(scheme === 'https' && { tls: isIP(host) === 0 ? { serverName: host } : {} }),
  }
  if (protocol === 'grpc:' || protocol === 'grpcs:')
    return { kind: 'grpc', ...request, path: url.pathname === '' ? '/' : request.path }
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new Error(`${url.href}: expected http, https, grpc, grpcs or tcp`)
  return { kind: 'http', ...request, method, version: http2 ? '2' : '1.1' }
}

function splitHeader(text: string): readonly [string, string] {
  const colon = text.indexOf(':')
  if (colon < 1) throw new Error(`--header ${text}: expected "name: value"`)
  return [text.slice(0, colon).trim().toLowerCase(), text.slice(colon + 1).trim()]
}
