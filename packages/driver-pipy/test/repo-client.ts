import { Agent, request } from 'node:https'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'

import type { Credential } from '@osm-ts/driver-api'

/** How a client of the repo server connects. */
export interface ClientOptions {
  readonly port: number
  /** Absent: it shows no certificate. */
  readonly credential?: Credential
  /** PEM of the roots that the server is verified by. */
  readonly roots: readonly string[]
}

/** An answer of the repo server. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Requests on one connection that stays open, as those of a worker do. Host names are not looked at, as Pipy does not. */
export class RepoClient {
  readonly #options: ClientOptions
  readonly #agent: Agent

  constructor(options: ClientOptions) {
    this.#options = options
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1, ...this.#tls() })
  }

  /** @param path - sent byte for byte */
  async send(method: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = request(this.#target(method, path, headers), (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.once('error', reject)
        response.once('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        )
      })
      sent.once('error', reject)
      sent.end(body)
    })
  }

  async get(path: string): Promise<Answer> {
    return this.send('GET', path)
  }

  /** Opens a WebSocket. Rejects with the status if the server does not want one. */
  async upgrade(path: string): Promise<Socket> {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': Buffer.alloc(16, 7).toString('base64'),
    }
    return new Promise((resolve, reject) => {
      const sent = request({ ...this.#target('GET', path, headers), agent: new Agent(this.#tls()) })
      sent.once('upgrade', (_response, socket) => resolve(socket))
      sent.once('response', (response) => {
        response.resume()
        reject(new Error(`status ${response.statusCode ?? 0}`))
      })
      sent.once('error', reject)
      sent.end()
    })
  }

  close(): void {
    this.#agent.destroy()
  }

  #target(method: string, path: string, headers: Record<string, string>) {
    return { host: '127.0.0.1', port: this.#options.port, method, path, headers, agent: this.#agent }
  }

  #tls() {
    const { credential, roots } = this.#options
    return {
      ca: [...roots],
      checkServerIdentity: () => undefined,
      ...(credential !== undefined && { cert: credential.chain, key: credential.privateKey }),
    }
  }
}
