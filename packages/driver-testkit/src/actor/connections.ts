import { request as httpRequest } from 'node:http'
import type { Socket } from 'node:net'

import { failed, openSocket, perform as performRequest } from './calls.js'
import type { Call, CallAnswer } from './protocol.js'

/** Silence after which nothing more is expected of a connection, where the call does not say how long that is. */
const SILENCE_MS = 3000

type ConnectionCall = Extract<Call, { readonly kind: 'tcp' | 'upgrade' | 'kept' }>

/** Connections of one actor, those included that outlive the call that opened them. */
export class Connections {
  readonly #kept = new Map<string, Line>()

  /** Sends a line over a new or a kept connection. Never rejects. */
  async perform(call: ConnectionCall): Promise<CallAnswer> {
    try {
      const opened = await this.#open(call)
      if (!(opened instanceof Line)) return opened
      const silenceMs = call.kind === 'kept' ? undefined : call.target.timeoutMs
      const answer = await opened.exchange(call.send, silenceMs)
      if (call.keep === undefined) opened.destroy()
      return answer
    } catch (error) {
      return { ...failed(error), closed: true }
    }
  }

  close(): void {
    for (const line of this.#kept.values()) line.destroy()
    this.#kept.clear()
  }

  async #open(call: ConnectionCall): Promise<Line | CallAnswer> {
    if (call.kind === 'kept') {
      const line = this.#kept.get(call.keep)
      return line ?? { status: 0, error: `no connection is kept as ${call.keep}` }
    }
    const socket = await openSocket(call.target, call.tls)
    const opened = call.kind === 'tcp' ? new Line(socket, 0) : await upgraded(call, socket)
    if (opened instanceof Line && call.keep !== undefined) {
      this.#kept.get(call.keep)?.destroy()
      this.#kept.set(call.keep, opened)
    }
    return opened
  }
}

/** A connection that is spoken over in lines. */
class Line {
  #heard = ''
  #ended = false
  #wake: () => void = () => undefined
  readonly #socket: Socket
  readonly #status: number

  constructor(socket: Socket, status: number) {
    this.#socket = socket
    this.#status = status
    // It may be silent for as long as a scenario wants.
    socket.setTimeout(0)
    socket.on('data', (chunk: Buffer) => {
      this.#heard += chunk.toString()
      this.#wake()
    })
    for (const event of ['end', 'close', 'error'] as const) {
      socket.on(event, () => {
        this.#ended = true
        this.#wake()
      })
    }
  }

  /** Sends a line, if there is one, and waits for a line, the end or silence. */
  async exchange(line: string | undefined, silenceMs = SILENCE_MS): Promise<CallAnswer> {
    if (line !== undefined) this.#socket.write(`${line}\n`)
    const deadline = performance.now() + silenceMs
    while (!this.#ended && !this.#heard.includes('\n') && performance.now() < deadline) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, deadline - performance.now())
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    const end = this.#heard.indexOf('\n')
    if (end === -1) return { status: this.#status, closed: this.#ended }
    const received = this.#heard.slice(0, end)
    this.#heard = this.#heard.slice(end + 1)
    return { status: this.#status, received, closed: this.#ended }
  }

  destroy(): void {
    this.#socket.destroy()
  }
}

function upgraded(call: Extract<Call, { readonly kind: 'upgrade' }>, socket: Socket): Promise<Line | CallAnswer> {
  return new Promise((resolve) => {
    const request = httpRequest({
      createConnection: () => socket,
      path: call.target.absolute ? `${call.scheme}://${call.authority}${call.path}` : call.path,
      headers: {
        host: call.authority,
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'sec-websocket-version': '13',
        ...call.headers,
      },
    })
    request.on('upgrade', (response, stream: Socket) => resolve(new Line(stream, response.statusCode ?? 0)))
    request.on('response', (response) => {
      socket.destroy()
      resolve({ status: response.statusCode ?? 0, closed: true })
    })
    request.on('error', (error) => resolve({ ...failed(error), closed: true }))
    request.end()
  })
}

/** Does what is asked for, by the connections of one actor. Never rejects. */
export function perform(call: Call, connections: Connections): Promise<CallAnswer> {
  return call.kind === 'http' || call.kind === 'grpc' ? performRequest(call) : connections.perform(call)
}
