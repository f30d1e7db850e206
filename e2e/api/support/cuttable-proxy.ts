import { connect, createServer, type Server, type Socket } from 'node:net'

import { listen } from '@osm-ts/driver-testkit/testing'

/** A TCP proxy in front of an API server, for a network that fails without the API server knowing. */
export class CuttableProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  url = ''
  #isCut = false

  private constructor(target: URL) {
    this.#server = createServer((inner) => {
      if (this.#isCut) {
        inner.destroy()
        return
      }
      const outer = connect(Number(target.port), target.hostname)
      this.#join(inner, outer)
      this.#join(outer, inner)
    })
  }

  static async start(target: string): Promise<CuttableProxy> {
    const proxy = new CuttableProxy(new URL(target))
    proxy.url = `https://127.0.0.1:${await listen(proxy.#server, '127.0.0.1', 0)}`
    return proxy
  }

  /** Cuts all connections, and refuses new ones. */
  cut(): void {
    this.#isCut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  mend(): void {
    this.#isCut = false
  }

  async stop(): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from)
    from.pipe(to)
    from.on('error', () => to.destroy())
    from.on('close', () => {
      this.#sockets.delete(from)
      to.destroy()
    })
  }
}
