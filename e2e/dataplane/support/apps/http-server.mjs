// Answers every request with what it saw, after `?delay=` milliseconds and with `?status=`. Upgrades to a raw echo on request.
import { createServer } from 'node:http'

const name = process.env.NAME ?? 'server'
const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '/', 'http://server')
  const delay = Number(searchParams.get('delay') ?? 0)
  const status = Number(searchParams.get('status') ?? 200)
  request.resume()
  setTimeout(() => {
    response.writeHead(status, { 'content-type': 'application/json', server: name })
    response.end(
      JSON.stringify({
        server: name,
        method: request.method,
        path: request.url,
        host: request.headers.host,
        headers: request.headers,
      }),
    )
  }, delay)
})
server.on('upgrade', (request, socket) => {
  socket.on('error', () => socket.destroy())
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\n`)
  socket.pipe(socket)
})
server.listen(Number(process.env.PORT), process.env.HOST ?? '127.0.0.1', () =>
  console.log(JSON.stringify({ server: name, listening: true })),
)
process.on('SIGTERM', () => {
  server.close(() => process.exit(0))
  server.closeIdleConnections()
  setTimeout(() => process.exit(0), 1000).unref()
})
