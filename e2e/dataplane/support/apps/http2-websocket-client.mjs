// Opens a WebSocket over HTTP/2 to the URL of its argument, and prints the status and what returned of a word.
import { connect } from 'node:http2'

const { origin, host } = new URL(process.argv[2])
const session = connect(origin)
const finish = (text) => {
  process.stdout.write(text)
  process.exit()
}
setTimeout(() => finish('no answer'), 10_000)
session.on('error', (error) => finish(error.message))
session.on('remoteSettings', ({ enableConnectProtocol }) => {
  if (!enableConnectProtocol) finish('the server takes no WebSockets')
  const stream = session.request({
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':scheme': 'http',
    ':authority': host,
    ':path': '/',
  })
  let status
  stream.on('error', (error) => finish(error.message))
  stream.on('response', (headers) => {
    status = headers[':status']
    stream.write('hello')
  })
  stream.on('data', (data) => finish(`${status} ${data}`))
})
