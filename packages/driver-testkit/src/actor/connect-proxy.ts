import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { connect, type Server, type Socket } from 'node:net'

/** A proxy that makes a connection of each CONNECT request over HTTP/2 without TLS, to where the request says. It does not listen yet. */
export function connectProxy(dial: Dial = connectTo): Server {
  return createServer().on('stream', (stream, headers) => tunnel(stream, headers, dial))
}

function tunnel(
  stream: ServerHttp2Stream,
  { ':method': method, ':authority': authority }: IncomingHttpHeaders,
  dial: Dial,
): void {
  stream.on('error', () => stream.destroy())
  const target = targetOf(authority ?? '')
  if (method !== 'CONNECT' || target === undefined) {
    stream.respond({ ':status': method === 'CONNECT' ? 400 : 405 }, { endStream: true })
    return
  }
  const socket = dial(target.host, target.port, () => {
    stream.respond({ ':status': 200 })
    stream.pipe(socket).pipe(stream)
  })
  socket.on('error', () => {
    if (!stream.headersSent && !stream.destroyed) stream.respond({ ':status': 502 }, { endStream: true })
    else stream.close()
  })
  stream.on('close', () => socket.destroy())
}

/** The host and port of an authority; undefined for what is none. */
function targetOf(authority: string): { readonly host: string; readonly port: number } | undefined {
  const [, bracketed, plain = '', port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(authority) ?? []
  if (port === undefined) return undefined
  if (bracketed !== undefined) return { host: bracketed, port: Number(port) }
  return { host: plain, port: Number(port) }
}

/** Makes a connection for a proxy, and calls back once it is there. */
export type Dial = (host: string, port: number, whenConnected: () => void) => Socket

/** Connects to a host that a proxy is told: `local.test` is the loopback, `<name>.test` is `<name>.outside`, and others are what they are. */
export function connectTo(host: string, port: number, whenConnected: () => void): Socket {
  const real = host === 'local.test' ? '127.0.0.1' : host.replace(/\.test$/, '.outside')
  return connect({ host: real, port }, whenConnected)
}
