// Says over HTTP/1.1 who it is and how many requests it has served, answers gRPC calls of `/<service>/<code>` with that code, and echoes over TCP.
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { createServer as createTcpServer } from 'node:net'

const { NAME: server = 'server', HOST: host = '127.0.0.1', PORT_WEB, PORT_GREETER, PORT_ECHO, PORT_SIDE } = process.env
const seen = { requests: 0 }
const web = createHttpServer((request, response) => {
  request.resume()
  seen.requests += 1
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ server, served: seen.requests }))
})
const greeter = createHttp2Server()
greeter.on('stream', (stream, headers) => {
  const [, , code = '0'] = String(headers[':path']).split('/')
  stream.on('error', () => stream.destroy())
  stream.resume()
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': code }))
  stream.end(Buffer.alloc(5))
})
const echo = () =>
  createTcpServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.pipe(socket)
  })
web.listen(Number(PORT_WEB), host)
greeter.listen(Number(PORT_GREETER), host)
echo().listen(Number(PORT_ECHO), host)
echo().listen(Number(PORT_SIDE), host)
process.on('SIGTERM', () => process.exit(0))
