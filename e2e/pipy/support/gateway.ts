import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A gateway in this process. */
interface Gateway {
  readonly address: string
  readonly stop: () => Promise<void>
}

/** Passes connections on as they are, and tells the server name that each of them requests in plaintext. */
export async function passingOn(target: string, tell: (serverName: string) => void): Promise<Gateway> {
  const [host, port] = target.split(':')
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const onward = connect({ host, port: Number(port) })
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy()).on('close', () => other.destroy())
      one.pipe(other)
    }
    // A name is in the first message as it is.
    socket.once('data', (hello) => tell(/[a-z0-9-]+(?:\.[a-z0-9-]+)+/.exec(hello.toString('latin1'))?.[0] ?? ''))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: own } = server.address() as AddressInfo
  return {
    address: `127.0.0.1:${own}`,
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
