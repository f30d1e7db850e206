// Says back whatever it hears: a protocol of which the mesh knows nothing but that it is TCP.
import net from 'node:net'
import { listen } from './lib/server.mjs'

const server = net.createServer((socket) => {
  // A client that goes away in the middle is no concern of the others.
  socket.on('error', () => socket.destroy())
  socket.pipe(socket)
})

listen(server, { name: process.env.IDENTITY ?? 'tcp-echo', port: 9000 })
