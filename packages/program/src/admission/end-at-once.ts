import type { IncomingMessage } from 'node:http'
import type { Server } from 'node:https'
import type { Socket } from 'node:net'

import type { FastifyInstance } from 'fastify'

/**
 * Has a server end when it has answered what it was asked, and not wait for connections that clients keep.
 *
 * Those that are idle Node ends by itself. It does not end one on which nothing has been asked yet, such as an API server opens ahead of need, before its
 * head is overdue, up to 90 s; and one that is answered meanwhile stays for as long as idle connections do.
 */
export function endAtOnce(app: FastifyInstance<Server>): void {
  const unasked = new Map<string, Socket>()
  let ends = false
  // Below TLS, so that those count whose handshake is not done.
  app.server.on('connection', (socket: Socket) => {
    const key = keyOf(socket)
    unasked.set(key, socket)
    socket.once('close', () => {
      if (unasked.get(key) === socket) unasked.delete(key)
    })
  })
  app.server.on('request', ({ socket }: IncomingMessage) => unasked.delete(keyOf(socket)))
  app.addHook('preClose', async () => {
    ends = true
    for (const socket of unasked.values()) socket.destroy()
  })
  app.addHook('onSend', async (_request, reply) => {
    if (ends) reply.header('connection', 'close')
  })
}

/** The same for a connection and for TLS on top of it. */
function keyOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
