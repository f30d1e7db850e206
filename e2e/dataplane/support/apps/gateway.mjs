// A gateway: connects to the loopback, at the port that CONNECT requests over HTTP/2 name.
import { createServer } from 'node:http2'
import { connect } from 'node:net'

const server = createServer()
const sessions = new Set()
server.on('session', (session) => {
  sessions.add(session)
  session.on('close', () => sessions.delete(session))
})
server.on('stream', (stream, { ':method': method, ':authority': authority = '' }) => {
  stream.on('error', () => stream.destroy())
  if (method !== 'CONNECT') {
    stream.respond({ ':status': 405 }, { endStream: true })
    return
  }
  const socket = connect(Number(authority.slice(authority.lastIndexOf(':') + 1)), '127.0.0.1', () => {
    stream.respond({ ':status': 200 })
    stream.pipe(socket).pipe(stream)
  })
  socket.on('error', () => stream.close())
  stream.on('close', () => socket.destroy())
})
server.listen(Number(process.env.PORT), process.env.HOST ?? '127.0.0.1', () =>
  console.log(JSON.stringify({ listening: true })),
)
process.on('SIGTERM', () => {
  for (const session of sessions) session.destroy()
  server.close(() => process.exit(0))
})
