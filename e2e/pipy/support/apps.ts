import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer, type Server, type Socket } from 'node:net'

import { listen } from '@osm-ts/driver-testkit/testing'

/** A server in this process. */
export interface App {
  readonly port: number
  readonly address: string
  readonly stop: () => Promise<void>
}

/** A server whose answers can be held back. */
export interface SlowApp extends App {
  /** Requests that have not been answered. */
  readonly held: () => number
  /** Answers them, and from now on at once. */
  readonly release: () => void
  /** Connections that were opened so far. */
  readonly connections: () => number
}

/**
 * Holds every request, until it is released; `/once` only the first time; `/stall` in the middle of the answer; and `/now` never. Requests of disconnected callers are no longer held.
 */
export async function slowApp(): Promise<SlowApp> {
  const waiting = new Set<() => void>()
  let isReleased = false
  let hasSeenOnce = false
  let connections = 0
  const server = createHttpServer((request, response) => {
    const isFirst = !hasSeenOnce
    hasSeenOnce ||= request.url === '/once'
    if (request.url === '/stall') response.write('x'.repeat(100_000))
    if (isReleased || request.url === '/now' || (request.url === '/once' && !isFirst)) {
      response.end('whole')
      return
    }
    const answer = (): void => {
      response.end('whole')
    }
    waiting.add(answer)
    response.on('close', () => waiting.delete(answer))
  })
  server.on('connection', () => {
    connections += 1
  })
  const app = await listening(server)
  return {
    ...app,
    held: () => waiting.size,
    release: () => {
      isReleased = true
      for (const answer of waiting) answer()
    },
    connections: () => connections,
  }
}

/** What an HTTP app has seen of a request; the body of its answer. */
export interface Seen {
  readonly server: string
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Answers with what it has seen, and with the status that the query asks for; takes WebSockets and sends back what comes, until that is `bye`. */
export async function httpApp(name: string): Promise<App> {
  const server = createHttpServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      response.statusCode = Number(/[?&]status=(\d+)/.exec(request.url ?? '')?.[1] ?? 200)
      response.end(
        JSON.stringify({ server: name, method: request.method, url: request.url, headers: request.headers, body }),
      )
    })
  })
  server.on('upgrade', (_request, socket: Socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n')
    socket.on('data', (data) => (data.toString() === 'bye' ? socket.end() : socket.write(data)))
    socket.on('error', () => socket.destroy())
  })
  return listening(server)
}

/** Answers by TLS with the status that the query asks for. */
export function tlsApp(cert: string, key: string): Promise<App> {
  return listening(
    createHttpsServer({ cert, key }, (request, response) => {
      response.statusCode = Number(/[?&]status=(\d+)/.exec(request.url ?? '')?.[1] ?? 200)
      response.end()
    }),
  )
}

/** Speaks first, then sends back what comes. */
export async function tcpApp(greeting: string): Promise<App> {
  return listening(
    createServer((socket) => {
      socket.on('error', () => socket.destroy())
      socket.write(greeting)
      socket.pipe(socket)
    }),
  )
}

/** Has a server listen on the loopback, on its own port. */
export async function listening(server: Server): Promise<App> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const port = await listen(server, '127.0.0.1', 0)
  const stop = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  return { port, address: `127.0.0.1:${port}`, stop }
}

/** Ports that nothing listens on. They are all held before the first is let go, so that no two are the same. */
export async function freeAddresses(count: number): Promise<readonly string[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listening(createServer())))
  await Promise.all(servers.map((server) => server.stop()))
  return servers.map(({ address }) => address)
}
