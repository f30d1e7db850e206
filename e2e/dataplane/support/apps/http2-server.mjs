// Answers every request over HTTP/2 without TLS with its name.
import { createServer } from 'node:http2'

const { NAME: server = 'server', HOST: host = '127.0.0.1', PORT } = process.env
const http2 = createServer((request, response) => {
  request.resume()
  response.end(JSON.stringify({ server }))
})
http2.listen(Number(PORT), host, () => console.log(JSON.stringify({ server, listening: true })))
process.on('SIGTERM', () => process.exit(0))
