// Answers every request, over HTTP/1.1 or HTTP/2 on one port, with what it saw of it; /open/seen with all requests since the last time it was asked.
import { createServer as createHttp1 } from 'node:http'
import { createServer as createHttp2 } from 'node:http2'
import { createServer } from 'node:net'

const { NAME: server = 'server', HOST: host = '127.0.0.1', PORT } = process.env
const PREFACE = 'PRI * HTTP/2.0'
/** Requests since somebody asked for them. */
const recorded = []

function answer(request, response) {
  request.resume()
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !name.startsWith(':')))
  const host = request.headers[':authority'] ?? request.headers.host
  const seen = { method: request.method, path: request.url, host, headers }
  const asksForAll = request.url === '/open/seen'
  const all = asksForAll ? { requests: recorded.splice(0) } : {}
  if (!asksForAll) recorded.push(seen)
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ server, ...seen, ...all }))
}

const http1 = createHttp1(answer)
http1.on('upgrade', (request, socket) => {
  socket.on('error', () => socket.destroy())
  recorded.push({ method: request.method, path: request.url, headers: request.headers })
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\n`)
  socket.pipe(socket)
})
const http2 = createHttp2(answer)
createServer((socket) => {
  socket.on('error', () => socket.destroy())
  socket.once('data', (first) => {
    socket.pause()
    socket.unshift(first)
    const isHttp2 = first.toString('latin1').startsWith(PREFACE)
    ;(isHttp2 ? http2 : http1).emit('connection', socket)
    if (!isHttp2) socket.resume()
  })
}).listen(Number(PORT), host, () => console.log(JSON.stringify({ server, listening: true })))
process.on('SIGTERM', () => process.exit(0))
