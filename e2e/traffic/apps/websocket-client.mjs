// Does the exchanges of the WebSocket corpus with ws (npm): reads targets, prints what it has seen.
import WebSocket from 'ws'
import { digest, seenInTurns } from './exchanges.mjs'

const TIMEOUT_MS = 30_000

function ask({ host, port }, { path, send, subprotocols = [], closes }) {
  return new Promise((resolve) => {
    const socket = new WebSocket(`ws://${host}:${port}${path}`, subprotocols, { handshakeTimeout: TIMEOUT_MS })
    const messages = []
    const next = () => {
      const each = send[messages.length]
      if (each === undefined) return closes === 'client' ? socket.close(1000, 'done') : socket.send('bye')
      socket.send(each.binary ? Buffer.alloc(each.bytes, 'b') : 't'.repeat(each.bytes))
    }
    socket.on('open', next)
    socket.on('message', (data, isBinary) => {
      messages.push({ isBinary, ...digest(data) })
      next()
    })
    socket.on('error', (error) => resolve({ error: error.code ?? error.message }))
    socket.on('close', (code, reason) =>
      resolve({
        messages,
        code,
        reason: reason.toString(),
        subprotocol: socket.protocol,
        extensions: socket.extensions,
      }),
    )
  })
}

console.log(JSON.stringify(await seenInTurns(ask)))
