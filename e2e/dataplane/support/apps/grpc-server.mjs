// Answers gRPC calls of `/<service>/<code>` with that code: after a message, or at once where the service is `Refuse`, or never after one of `Hold`.
import { createServer } from 'node:http2'

const server = createServer()
server.on('stream', (stream, headers) => {
  const [, service, code = '0'] = String(headers[':path']).split('/')
  const answer = { ':status': 200, 'content-type': 'application/grpc+proto' }
  stream.on('error', () => stream.destroy())
  stream.resume()
  if (service === 'Refuse') {
    stream.respond({ ...answer, 'grpc-status': code }, { endStream: true })
    return
  }
  stream.respond(answer, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': code }))
  const emptyMessage = Buffer.alloc(5)
  if (service === 'Hold') stream.write(emptyMessage)
  else stream.end(emptyMessage)
})
server.listen(Number(process.env.PORT), process.env.HOST ?? '127.0.0.1')
process.on('SIGTERM', () => process.exit(0))
