// Answers every request with what it saw and how many there were, after `?delay=` milliseconds and with `?status=`. With `?events=` the
// answer never ends. Upgrades to a raw echo on request.
import { createServer } from 'node:http'

const name = process.env.NAME ?? 'server'
const seen = { requests: 0 }
const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '/', 'http://server')
  const delay = Number(searchParams.get('delay') ?? 0)
  const status = Number(searchParams.get('status') ?? 200)
  request.resume()
  seen.requests += 1
  const served = seen.requests
  const answer = () => {
    response.writeHead(status, { 'content-type': 'application/json', server: name })
    response.end(
      JSON.stringify({
        server: name,
        served,
        method: request.method,
        path: request.url,
        host: request.headers.host,
        headers: request.headers,
      }),
    )
  }
  if (searchParams.has('events')) {
    response.writeHead(status, { 'content-type': 'text/event-stream' })
    const timer = setInterval(() => response.write('data: event\n\n'), 100)
    response.on('close', () => clearInterval(timer))
    return
  }
  // A timer takes a millisecond at least.
  if (delay > 0) setTimeout(answer, delay)
  else answer()
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
