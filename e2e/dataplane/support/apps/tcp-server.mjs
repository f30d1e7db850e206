// Echoes lines. With BANNER set it speaks first.
import { createServer } from 'node:net'

const sockets = new Set()
const server = createServer((socket) => {
  sockets.add(socket)
  socket.on('close', () => sockets.delete(socket))
  socket.on('error', () => socket.destroy())
  if (process.env.BANNER) socket.write(`${process.env.BANNER}\n`)
  socket.pipe(socket)
})
server.listen(Number(process.env.PORT), process.env.HOST ?? '127.0.0.1', () =>
  console.log(JSON.stringify({ listening: true })),
)
process.on('SIGTERM', () => {
  for (const socket of sockets) socket.destroy()
  server.close(() => process.exit(0))
})
