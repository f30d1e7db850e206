import { once } from 'node:events'
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the proxy saw of a request. */
export interface Seen {
  readonly method: string
  readonly url: string
  readonly host: string
}

/** Decides about a request: undefined lets it pass, a status answers it, a promise holds it back until then. */
export type Decide = (seen: Seen) => number | undefined | Promise<number | undefined>

/** Replaces the sidecar of explicit mode: a forward proxy that knows where services are. */
export class ForwardProxy {
  readonly seen: Seen[] = []
  /** Real address of each `host:port`. */
  readonly routes = new Map<string, string>()
  decide: Decide = () => undefined
  readonly #server = createServer((incoming, outgoing) => {
    this.#forward(incoming, outgoing).catch(() => outgoing.destroy())
  })

  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async #forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const seen = { method: incoming.method ?? '', url: incoming.url ?? '', host: incoming.headers.host ?? '' }
    this.seen.push(seen)
    const address = this.routes.get(new URL(seen.url).host)
    const status = (await this.decide(seen)) ?? (address === undefined ? 404 : undefined)
    if (status !== undefined) {
      outgoing.writeHead(status).end()
      return
    }
    const { pathname } = new URL(seen.url)
    const forwarded = request(`http://${String(address)}${pathname}`, {
      method: seen.method,
      headers: incoming.headers,
      agent: false,
    })
    incoming.pipe(forwarded)
    const [answer] = (await once(forwarded, 'response')) as [IncomingMessage]
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(outgoing)
  }
}
