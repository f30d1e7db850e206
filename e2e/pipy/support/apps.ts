import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

/** A server in this process. */
export interface App {
  readonly port: number
  readonly address: string
  readonly stop: () => Promise<void>
}

/** What an HTTP app has seen of a request; the body of its answer. */
export interface Seen {
  readonly server: string
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Answers with what it has seen, and with the status that the query asks for; takes WebSockets and sends back what comes. */
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
    socket.on('data', (data) => socket.write(data)).on('error', () => socket.destroy())
  })
  return listening(server)
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

async function listening(server: Server): Promise<App> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
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
