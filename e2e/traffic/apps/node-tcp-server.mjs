// A server that speaks first, then does what the first line of its client says: node-tcp-server.mjs PORT
import { createHash } from 'node:crypto'
import { createServer } from 'node:net'

const [, , port] = process.argv
/** What clients sent behind the end of the server's own bytes, by their first word. */
const left = new Map()

const modes = {
  close: (socket) => socket.end('bye\n'),
  echo: (socket) => socket.pipe(socket),
  large: (socket) => socket.end(Buffer.alloc(1024 * 1024, 'x')),
  reset: (socket) => socket.resetAndDestroy(),
  digest: (socket) => {
    const hash = createHash('sha256')
    let bytes = 0
    socket.on('data', (chunk) => {
      bytes += chunk.length
      hash.update(chunk)
    })
    socket.on('end', () => socket.end(`${bytes} ${hash.digest('hex')}\n`))
  },
  'half-close': (socket) => {
    socket.end('nothing more\n')
    let text = ''
    socket.on('data', (chunk) => (text += chunk))
    socket.on('end', () => {
      const [name] = text.split(' ')
      left.set(name, text.slice(name.length + 1))
      waiting.get(name)?.()
    })
  },
  // The other connection may not have ended here yet.
  left: (socket, name) => {
    const answer = () => socket.end(left.get(name))
    if (left.has(name)) answer()
    else waiting.set(name, answer)
  },
}
const waiting = new Map()

const server = createServer({ allowHalfOpen: true }, (socket) => {
  socket.on('error', () => undefined)
  socket.write('hello\n')
  socket.once('data', (chunk) => {
    socket.pause()
    const line = chunk.toString('latin1', 0, chunk.indexOf('\n'))
    const rest = chunk.subarray(chunk.indexOf('\n') + 1)
    if (rest.length > 0) socket.unshift(rest)
    const [mode, argument] = line.split(' ')
    modes[mode](socket, argument)
    socket.resume()
  })
})
server.listen(Number(port), '0.0.0.0')
