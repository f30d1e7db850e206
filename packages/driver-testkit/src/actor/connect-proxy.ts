import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { connect, type Server } from 'node:net'

/** A proxy that makes a connection of each CONNECT request over HTTP/2 without TLS, to where the request says. It does not listen yet. */
export function connectProxy(): Server {
  return createServer().on('stream', tunnel)
}

function tunnel(stream: ServerHttp2Stream, { ':method': method, ':authority': authority }: IncomingHttpHeaders): void {
  stream.on('error', () => stream.destroy())
  const target = targetOf(authority ?? '')
  if (method !== 'CONNECT' || target === undefined) {
    stream.respond({ ':status': method === 'CONNECT' ? 400 : 405 }, { endStream: true })
    return
  }
  const socket = connect(target, () => {
    stream.respond({ ':status': 200 })
    stream.pipe(socket).pipe(stream)
  })
  socket.on('error', () => {
    if (!stream.headersSent && !stream.destroyed) stream.respond({ ':status': 502 }, { endStream: true })
    else stream.close()
  })
  stream.on('close', () => socket.destroy())
}

/** Where a name that only proxies know leads, or any other; undefined for what is no host and port. */
function targetOf(authority: string): { readonly host: string; readonly port: number } | undefined {
  const [, bracketed, plain = '', port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(authority) ?? []
  if (port === undefined) return undefined
  if (bracketed !== undefined) return { host: bracketed, port: Number(port) }
  if (plain === 'local.test') return { host: '127.0.0.1', port: Number(port) }
  return { host: plain.replace(/\.test$/, '.outside'), port: Number(port) }
}
