// Refuses every third stream over HTTP/2 before it reads it, as servers do that have too many, and ends the connection with every fifth, which it refuses too.
import { constants, createServer } from 'node:http2'

const { HOST: host = '0.0.0.0', PORT } = process.env
const server = createServer()
server.on('session', (session) => {
  let streams = 0
  session.on('error', () => undefined)
  session.on('stream', (stream) => {
    stream.on('error', () => undefined)
    streams += 1
    if (streams % 5 === 0) session.goaway(constants.NGHTTP2_NO_ERROR, Math.max(0, stream.id - 2))
    if (streams % 3 === 0 || streams % 5 === 0) {
      stream.close(constants.NGHTTP2_REFUSED_STREAM)
      return
    }
    let size = 0
    stream.on('data', (data) => (size += data.length))
    stream.on('end', () => {
      stream.respond({ ':status': 200, 'content-type': 'text/plain' })
      stream.end(String(size))
    })
  })
})
server.listen(Number(PORT), host)
