import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'

import type { LoadOptions } from './injection-load.js'

/** What returned. */
export interface ReviewAnswer {
  readonly status: number
  readonly body: Buffer
}

/** Somebody who waits for a connection. */
type Waiting = (connection: Connection) => void

const END_OF_HEAD = '\r\n\r\n'

/**
 * Connections to a webhook, as an API server keeps them.
 *
 * They speak just enough HTTP/1.1 for it: an HTTP client for everything takes as long for an answer as the webhook, and it is the webhook that is measured.
 */
export class ReviewConnections {
  readonly #head: string
  readonly #all: readonly Connection[]
  readonly #free: Connection[]
  readonly #waiting: Waiting[] = []

  private constructor(head: string, all: readonly Connection[]) {
    this.#head = head
    this.#all = all
    this.#free = [...all]
  }

  /** Resolves when all of them stand. */
  static async open(target: Omit<LoadOptions, 'load'>): Promise<ReviewConnections> {
    const { hostname, port, pathname } = new URL(target.url)
    const { ca, serverName: servername } = target
    const head = [`POST ${pathname}?timeout=20s HTTP/1.1`, `host: ${servername}`, 'content-type: application/json', '']
    const opening = Array.from({ length: target.connections }, async () => {
      const socket = connect({ host: hostname, port: Number(port), ca, servername, minVersion: 'TLSv1.3' })
      await once(socket, 'secureConnect')
      return new Connection(socket.setNoDelay())
    })
    return new ReviewConnections(head.join('\r\n'), await Promise.all(opening))
  }

  /** The bytes of a request. */
  requestOf(body: string): Buffer {
    return Buffer.from(`${this.#head}content-length: ${Buffer.byteLength(body)}${END_OF_HEAD}${body}`)
  }

  /** Asks on the connection that is free for the longest time, as servers end those that are idle; or on the next that gets free. */
  async ask(request: Buffer): Promise<ReviewAnswer> {
    const connection = this.#free.shift() ?? (await new Promise<Connection>((resolve) => this.#waiting.push(resolve)))
    const answer = await connection.ask(request)
    const next = this.#waiting.shift()
    if (next === undefined) this.#free.push(connection)
    else next(connection)
    return answer
  }

  close(): void {
    for (const connection of this.#all) connection.close()
  }
}

/** One question at a time. */
class Connection {
  readonly #socket: TLSSocket
  #chunks: Buffer[] = []
  #octets = 0
  /** Bytes of the answer; unknown until its head is there. */
  #whole: number | undefined
  #asked: Asked | undefined

  constructor(socket: TLSSocket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('error', (error: Error) => this.#asked?.reject(error))
    socket.on('close', () => this.#asked?.reject(new Error('the webhook has closed the connection')))
  }

  ask(request: Buffer): Promise<ReviewAnswer> {
    return new Promise((resolve, reject) => {
      this.#asked = { resolve, reject }
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#asked = undefined
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#octets += chunk.length
    this.#whole ??= wholeLength(this.#chunks)
    if (this.#whole === undefined || this.#octets < this.#whole) return
    const answer = Buffer.concat(this.#chunks)
    const asked = this.#asked
    this.#chunks = []
    this.#octets = 0
    this.#whole = undefined
    this.#asked = undefined
    // "HTTP/1.1 200 OK"
    const status = Number(answer.toString('latin1', 9, 12))
    asked?.resolve({ status, body: answer.subarray(answer.indexOf(END_OF_HEAD) + END_OF_HEAD.length) })
  }
}

interface Asked {
  readonly resolve: (answer: ReviewAnswer) => void
  readonly reject: (error: Error) => void
}

/** Head and body of an answer, as the head says it; nothing while the head is not complete. */
function wholeLength(chunks: readonly Buffer[]): number | undefined {
  const [first] = chunks
  const start = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
  const end = start.indexOf(END_OF_HEAD)
  if (end === -1) return undefined
  const length = /^content-length: *(\d+)\r?$/im.exec(start.toString('latin1', 0, end + 2))?.[1]
  if (length === undefined) throw new Error('the webhook does not say how long its answer is')
  return end + END_OF_HEAD.length + Number(length)
}
