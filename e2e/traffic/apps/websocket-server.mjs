// Echoes messages with ws (npm), and closes when it is told to: websocket-server.mjs <port>
import { WebSocketServer } from 'ws'

const [, , port] = process.argv
const server = new WebSocketServer({ port: Number(port), host: '0.0.0.0', perMessageDeflate: true })
server.on('connection', (socket) => {
  socket.on('message', (data, isBinary) => {
    if (!isBinary && data.toString() === 'bye') socket.close(4000, 'told to')
    else socket.send(data, { binary: isBinary })
  })
})
