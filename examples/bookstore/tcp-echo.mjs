// Says back whatever it hears: a protocol of which the mesh knows nothing but that it is TCP.
import net from 'node:net'
import { listen } from './lib/server.mjs'

const server = net.createServer((socket) => {
  // A client that disconnects in the middle does not affect others.
  socket.on('error', () => socket.destroy())
  socket.pipe(socket)
})

listen(server, { name: process.env.IDENTITY ?? 'tcp-echo', port: 9000 })
