import { connect, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'

/** A listener of a sidecar for other sidecars. */
export interface InboundListener {
  readonly address: string
  readonly port: number
  /** Name of the service behind it. */
  readonly serverName: string
}

/** A certificate to show, and the roots to trust; without a chain none is shown. */
export interface Shown {
  readonly chain?: string
  readonly privateKey?: string
  readonly roots: string
}

/** Longer than any answer takes, also where the machine is busy. */
const TIMEOUT_MS = 10_000

/** Says something straight to a sidecar, as another sidecar would. Gives the first line of the answer, or that it is `refused`. */
export function askSidecar(listener: InboundListener, shown: Shown | 'plaintext', say: string): Promise<string> {
  const { address: host, port, serverName: servername } = listener
  if (shown === 'plaintext') {
    const socket = connect({ host, port })
    return firstLine(socket, 'connect', say)
  }
  const { chain, privateKey, roots } = shown
  const options: ConnectionOptions = {
    host,
    port,
    servername,
    ALPNProtocols: ['osm'],
    ca: roots,
    checkServerIdentity: () => undefined,
    ...(chain === undefined ? {} : { cert: chain, key: privateKey }),
  }
  return firstLine(connectTls(options), 'secureConnect', say)
}

function firstLine(socket: Socket, open: 'connect' | 'secureConnect', say: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const settle = (word: string): void => {
      resolve(word)
      socket.destroy()
    }
    socket.setTimeout(TIMEOUT_MS, () => settle('silence'))
    socket.on(open, () => socket.write(say))
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString('latin1')
      const [line = ''] = answer.split(/\r?\n/)
      // An alert of TLS that answers plain text is no answer.
      if (answer.includes('\n')) settle(line)
    })
    socket.on('error', () => settle('refused'))
    socket.on('close', () => settle('refused'))
  })
}
