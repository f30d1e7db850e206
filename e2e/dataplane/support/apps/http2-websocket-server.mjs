// Takes WebSockets over HTTP/2 (RFC 8441) and sends back what comes.
import { createServer } from 'node:http2'

const { HOST: host = '0.0.0.0', PORT } = process.env
const server = createServer({ settings: { enableConnectProtocol: true } })
server.on('stream', (stream, headers) => {
  stream.on('error', () => undefined)
  stream.respond({ ':status': headers[':protocol'] === 'websocket' ? 200 : 400 })
  stream.pipe(stream)
})
server.listen(Number(PORT), host)
