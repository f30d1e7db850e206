// Tells over HTTP what it saw, and over TCP who it is. A request with a mark is noted in a file, and may ask for the status of its answer.
import { appendFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'

const { NAME: server = 'server', HOST: host = '127.0.0.1', PORT_HTTP, PORT_TCP, ARRIVALS } = process.env
const http = createHttpServer((request, response) => {
  request.resume()
  const { 'x-mark': mark, 'x-answer': status } = request.headers
  // By the time of the answer, the note is there.
  if (ARRIVALS !== undefined && mark !== undefined) appendFileSync(ARRIVALS, `${String(mark)} ${server}\n`)
  response.statusCode = Number(status ?? 200)
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
