import { connect as connectTls, type TLSSocket } from 'node:tls'

/**
 * Speaks HTTP to a served port; what returns, or nothing if it is closed.
 *
 * @param path - bytes, one for each character
 */
export async function handshake(
  port: number,
  servername: string,
  cert?: string,
  key?: string,
  path = '/open',
): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectTo(port, servername, cert, key)
    socket.once('secureConnect', () =>
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`, 'latin1'),
    )
    let got = ''
    socket.on('data', (chunk: Buffer) => (got += chunk.toString()))
    socket.on('error', () => undefined)
    socket.once('close', () => resolve(got))
  })
}

/** A connection to a served port, which speaks HTTP and stays open. */
export class KeptConnection {
  readonly #socket: TLSSocket
  #got = ''
  #isClosed = false
  #changed = (): void => undefined

  constructor(port: number, servername: string, cert: string, key: string) {
    this.#socket = connectTo(port, servername, cert, key)
    this.#socket.on('error', () => undefined)
    this.#socket.on('data', (chunk: Buffer) => {
      this.#got += chunk.toString()
      this.#changed()
    })
    this.#socket.once('close', () => {
      this.#isClosed = true
      this.#changed()
    })
  }

  /** The answer, whose body ends with those words, or what came of it until the connection was closed. */
  async ask(path: string, end: string): Promise<string> {
    this.#got = ''
    this.#socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
    await this.#until(() => this.#got.endsWith(end))
    return this.#got
  }

  /** Resolves when it is closed. */
  async closed(): Promise<void> {
    await this.#until(() => false)
  }

  async #until(holds: () => boolean): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#changed = () => {
        if (this.#isClosed || holds()) resolve()
      }
      this.#changed()
    })
  }
}

function connectTo(port: number, servername: string, cert?: string, key?: string): TLSSocket {
  return connectTls({
    host: '127.0.0.1',
    port,
    servername,
    rejectUnauthorized: false,
    ...(cert !== undefined && key !== undefined && { cert, key }),
  })
}
