import { createServer, type Server, type Socket } from 'node:net'

import { connectTo, type Dial } from './connect-proxy.js'

const VERSION = 5
const NO_AUTHENTICATION = 0
const CONNECT = 1
const SUCCEEDED = 0
const HOST_UNREACHABLE = 4
const COMMAND_NOT_SUPPORTED = 7

/** A proxy that speaks SOCKS 5 without authentication, and connects to where it is told. It does not listen yet. */
export function socksProxy(dial: Dial = connectTo): Server {
  return createServer((socket) => {
    socket.on('error', () => socket.destroy())
    serve(socket, dial).catch(() => socket.destroy())
  })
}

async function serve(socket: Socket, dial: Dial): Promise<void> {
  const [version, methods = 0] = await read(socket, 2)
  const offered = await read(socket, methods)
  if (version !== VERSION || !offered.includes(NO_AUTHENTICATION)) throw new Error('not spoken here')
  socket.write(Buffer.from([VERSION, NO_AUTHENTICATION]))
  const [, command, , kind] = await read(socket, 4)
  const host = await readHost(socket, kind)
  const port = (await read(socket, 2)).readUInt16BE()
  const reply = (code: number): Buffer => Buffer.from([VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0])
  if (command !== CONNECT) {
    socket.end(reply(COMMAND_NOT_SUPPORTED))
    return
  }
  let isConnected = false
  const onward = dial(host, port, () => {
    isConnected = true
    socket.write(reply(SUCCEEDED))
    onward.pipe(socket).pipe(onward)
  })
  onward.on('error', () => (isConnected ? socket.destroy() : socket.end(reply(HOST_UNREACHABLE))))
  socket.on('close', () => onward.destroy())
}

async function readHost(socket: Socket, kind: number | undefined): Promise<string> {
  switch (kind) {
    case 1:
      return [...(await read(socket, 4))].join('.')
    case 3:
      return (await read(socket, (await read(socket, 1))[0] ?? 0)).toString('latin1')
    case 4: {
      const bytes = await read(socket, 16)
      return Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16)).join(':')
    }
    default:
      throw new Error(`kind ${String(kind)} of addresses is unknown`)
  }
}

/** The next bytes; rejects if the connection ends before. */
async function read(socket: Socket, count: number): Promise<Buffer> {
  if (count === 0) return Buffer.alloc(0)
  for (;;) {
    const bytes = socket.read(count) as Buffer | null
    if (bytes !== null && bytes.length === count) return bytes
    if (socket.readableEnded || socket.destroyed) throw new Error('the connection has ended')
    await new Promise<void>((resolve) => {
      const done = (): void => {
        for (const event of events) socket.off(event, done)
        resolve()
      }
      for (const event of events) socket.on(event, done)
    })
  }
}

const events = ['readable', 'end', 'close'] as const
