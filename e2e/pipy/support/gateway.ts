import { connect, createServer } from 'node:net'

import { type App, listening } from './apps.js'

/** Passes connections on as they are, and tells the server name that each of them requests in plaintext. */
export function passingOn(target: string, tell: (serverName: string) => void): Promise<App> {
  const [host, port] = target.split(':')
  return listening(
    createServer((socket) => {
      const onward = connect({ host, port: Number(port) })
      for (const [one, other] of [
        [socket, onward],
        [onward, socket],
      ] as const) {
        one.on('error', () => other.destroy()).on('close', () => other.destroy())
        one.pipe(other)
      }
      // A name is in the first message as it is.
      socket.once('data', (hello) => tell(/[a-z0-9-]+(?:\.[a-z0-9-]+)+/.exec(hello.toString('latin1'))?.[0] ?? ''))
    }),
  )
}
