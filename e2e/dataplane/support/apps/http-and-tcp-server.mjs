// Tells over HTTP what it saw, and over TCP who it is.
import { createServer as createHttpServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'

const { NAME: server = 'server', HOST: host = '127.0.0.1', PORT_HTTP, PORT_TCP } = process.env
const http = createHttpServer((request, response) => {
  request.resume()
  response.end(JSON.stringify({ server, path: request.url, headers: request.headers }))
})
const tcp = createTcpServer((socket) => {
  socket.on('error', () => socket.destroy())
  socket.on('data', () => socket.end(`${server}\n`))
})
tcp.listen(Number(PORT_TCP), host, () => {
  http.listen(Number(PORT_HTTP), host, () => console.log(JSON.stringify({ server, listening: true })))
})
process.on('SIGTERM', () => {
  tcp.close()
  http.close(() => process.exit(0))
  http.closeIdleConnections()
  setTimeout(() => process.exit(0), 1000).unref()
})
