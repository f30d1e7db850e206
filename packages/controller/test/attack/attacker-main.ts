import { connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'

import type { Attack } from './attacks.js'

// Attacks servers from several addresses of loopback until its parent ends it. Tells its parent how many connections it has made.

/** Peers of the tests have 127.0.0.1. */
const FIRST_SOURCE = 2
const TICK_MS = 50
/** How long a connection stays before it gives way to the next. */
const RECONNECT_MS = 100
/** Connections that it makes in one tick. */
const MAX_BURST = 1_000

const { attack, ports, plain } = JSON.parse(process.argv[2] ?? '') as {
  readonly attack: Attack
  readonly ports: readonly number[]
  /** Those of servers of HTTP without TLS. */
  readonly plain: readonly number[]
}
const hello = await clientHello()
const begin = performance.now()
let made = 0

/** What a TLS client sends first. */
async function clientHello(): Promise<Buffer> {
  return new Promise((resolve) => {
    const wire = new Duplex({ read: () => undefined, write: (chunk: Buffer) => resolve(chunk) })
    connectTls({ socket: wire, servername: 'localhost' }).on('error', () => undefined)
  })
}

function dial(port: number): void {
  const localAddress = `127.0.0.${FIRST_SOURCE + (Math.floor(made / ports.length) % attack.sources)}`
  made += 1
  const socket = connect({ host: '127.0.0.1', port, localAddress })
  socket.on('error', () => undefined)
  socket.resume()
  switch (attack.kind) {
    case 'four bytes':
      socket.write(hello.subarray(0, 4))
      break
    case 'half handshakes':
      socket.write(hello)
      break
    case 'slow headers':
      speakSlowly(socket, port)
      break
    case 'reconnects':
      socket.write([hello.subarray(0, 4), hello, Buffer.alloc(0)][made % 3] ?? '')
      socket.once('connect', () => setTimeout(() => socket.destroy(), RECONNECT_MS))
      break
    default:
  }
}

/** Over TLS it shows no certificate. */
function speakSlowly(socket: Socket, port: number): void {
  const isPlain = plain.includes(port)
  const stream = isPlain ? socket : connectTls({ socket, servername: 'localhost', rejectUnauthorized: false })
  stream.on('error', () => undefined)
  stream.write('GET / HTTP/1.1\r\nhost: localhost\r\nx: ')
  const timer = setInterval(() => stream.write('y'), 1_000)
  socket.once('close', () => clearInterval(timer))
}

setInterval(() => {
  // What a busy machine has made it miss comes later, or its rate would be less than it says.
  const due = Math.min(attack.most, ((performance.now() - begin) / 1000) * attack.rate * ports.length)
  for (let burst = 0; made < due && burst < MAX_BURST; burst += 1) dial(ports[made % ports.length] ?? 0)
  process.send?.(made)
}, TICK_MS)
