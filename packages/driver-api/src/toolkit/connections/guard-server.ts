import type { Server as HttpServer } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import { Server as TlsServer, type TLSSocket } from 'node:tls'

import { ConnectionGuard, type GuardedConnection } from './connection-guard.js'
import type { ServerConnectionLimits } from './connection-limits.js'
import type { LimitReportOptions } from './limit-report.js'

/** What a guarded server needs. */
export interface GuardServerOptions extends LimitReportOptions {
  /** Limits of each stage. */
  readonly limits: ServerConnectionLimits
}

/**
 * Puts a {@link ConnectionGuard} before a server of HTTP or HTTPS that does not listen yet.
 *
 * A peer with a verified client certificate is counted by the certificate's names, any other by its address. Close the guard when the server
 * begins to close: the server waits for connections that it has not been given yet.
 */
export function guardServer(server: HttpServer | HttpsServer, options: GuardServerOptions): ConnectionGuard {
  const handlers = server.listeners('connection')
  server.removeAllListeners('connection')
  const isTls = server instanceof TlsServer
  const shaking = new Map<string, GuardedConnection>()
  const remember = (socket: Socket, connection: GuardedConnection): void => {
    const key = keyOf(socket)
    shaking.set(key, connection)
    socket.once('close', () => {
      if (shaking.get(key) === connection) shaking.delete(key)
    })
  }
  const guard = new ConnectionGuard({
    ...options,
    protocol: isTls ? 'tls' : 'plain',
    inject: (socket, connection) => {
      if (isTls) remember(socket, connection)
      for (const handle of handlers) handle.call(server, socket)
    },
  })
  server.on('connection', (socket: Socket) => void guard.accept(socket))
  if (isTls)
    server.on('secureConnection', (socket: TLSSocket) => {
      const key = keyOf(socket)
      const connection = shaking.get(key)
      shaking.delete(key)
      if (connection !== undefined) guard.open(connection, identityOf(socket))
    })
  return guard
}

/** The same for a socket and for TLS on top of it. */
function keyOf({ remoteAddress = '', remotePort = 0, localAddress = '' }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`
}

/** Subject and alternative names: a name that is longer than 64 characters is in no subject. */
function identityOf(socket: TLSSocket): string | undefined {
  const certificate = socket.authorized ? socket.getPeerX509Certificate() : undefined
  return certificate && [certificate.subject, certificate.subjectAltName].join('\n')
}
