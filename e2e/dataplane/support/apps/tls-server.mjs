// Speaks TLS and answers every request with its name and the name in the client's certificate. CERT and KEY hold PEM; with CA, clients must show one.
import { createServer } from 'node:https'

const { NAME: name = 'server', CERT: cert, KEY: key, CA: ca, PORT, HOST } = process.env
const mutual = ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: true }
const server = createServer({ cert, key, ...mutual }, (request, response) => {
  request.resume()
  response.writeHead(200, { 'content-type': 'application/json' })
  const client = request.socket.getPeerCertificate().subject?.CN
  response.end(JSON.stringify({ server: name, path: request.url, host: request.headers.host, client }))
})
server.on('tlsClientError', () => {})
server.listen(Number(PORT), HOST ?? '127.0.0.1', () => console.log(JSON.stringify({ server: name, listening: true })))
process.on('SIGTERM', () => {
  server.close(() => process.exit(0))
  server.closeAllConnections()
})
