import { createServer, type Server } from 'node:net'

/**
 * Takes a lock by listening on a socket of this path. The kernel frees an abstract socket when its process ends, in whatever way.
 *
 * @returns the server to close when the lock is released; undefined while another holder listens
 */
export function trySocketLock(path: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    // Connections are closed at once: the name is all that counts.
    const server = createServer((socket) => socket.destroy())
    server.unref()
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    )
    server.listen(path, () => resolve(server))
  })
}
