import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'

import { OsmError } from '@osm-ts/driver-api'

/** Where connections go, and how many may wait. */
export interface ConnectionGateOptions {
  /** Takes over a connection that was accepted. */
  readonly inject: (socket: Socket) => void
  /** Connections that have not shown who they are, those that wait among them. What comes beyond is closed. */
  readonly maxPending: number
  /** Connections that may shake hands at the same moment; the others wait in the order in which they came. */
  readonly maxHandshakes: number
  /** A connection that takes longer does not keep others waiting any more. Milliseconds. */
  readonly handshakeTurnMs: number
  /** From its turn on. Milliseconds. */
  readonly establishTimeoutMs: number
}

interface Connection {
  readonly socket: Socket
  /** Until it is established. */
  pending: boolean
  /** Cuts the connection if it is not established in time. */
  timer: NodeJS.Timeout | undefined
  /** Present while others wait for its handshake. */
  turn: NodeJS.Timeout | undefined
  condemned: boolean
}

/**
 * Accepts connections before TLS does, and can cut them off.
 *
 * grpc-js has no way to close a connection from within a call, and gives a handshake two minutes. Here a connection has a few seconds to prove who it
 * is, and those that have not yet are bounded, so that half-open handshakes do not pile up.
 *
 * When thousands of proxies come back at once, each handshake costs about a millisecond. All of them together would keep the event loop from everything else
 * and each other from an end before their peers give up. So a few have their turn, and then the next.
 */
export class ConnectionGate {
  readonly #options: ConnectionGateOptions
  readonly #connections = new Map<string, Connection>()
  readonly #server = createServer({ noDelay: true, keepAlive: true }, (socket) => this.#accept(socket))
  /** In the order in which they came. */
  readonly #waiting = new Set<Connection>()
  #pending = 0
  #handshakes = 0

  constructor(options: ConnectionGateOptions) {
    this.#options = options
  }

  /** Connections that are open. */
  get size(): number {
    return this.#connections.size
  }

  get listening(): boolean {
    return this.#server.listening
  }

  /** @returns the port */
  async listen(host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      const fail = (cause: Error) =>
        reject(new OsmError('OSM_DRIVER_START', `the xDS server can not listen on ${host}:${port}`, { cause }))
      this.#server.once('error', fail)
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', fail)
        // Running out of file descriptors must not end the process; the next connection may find one.
        this.#server.on('error', () => undefined)
        resolve()
      })
    })
    return (this.#server.address() as AddressInfo).port
  }

  /** The peer has proven who it is. */
  establish(peer: string): void {
    const connection = this.#connections.get(peer)
    if (connection !== undefined) this.#settle(connection)
  }

  /** Closes the connection of a peer at once. */
  cut(peer: string): void {
    this.#connections.get(peer)?.socket.destroy()
  }

  /** Closes the connection of a peer when what is on its way to it had time to leave. */
  condemn(peer: string, graceMs: number): void {
    const connection = this.#connections.get(peer)
    if (connection === undefined || connection.condemned) return
    connection.condemned = true
    setTimeout(() => connection.socket.destroy(), graceMs).unref()
  }

  /** True if the connection of a peer is about to be closed, or is closed: no stream should start on it any more. */
  isCondemned(peer: string): boolean {
    return this.#connections.get(peer)?.condemned !== false
  }

  /** Stops accepting and closes everything. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      if (this.#server.listening) this.#server.close(() => resolve())
      else resolve()
    })
    for (const { socket } of this.#connections.values()) socket.destroy()
    await closed
  }

  #accept(socket: Socket): void {
    // An error is followed by a close, which is what counts.
    socket.on('error', () => undefined)
    const peer = peerName(socket)
    if (peer === undefined || this.#pending >= this.#options.maxPending) {
      socket.destroy()
      return
    }
    const connection: Connection = { socket, pending: true, timer: undefined, turn: undefined, condemned: false }
    this.#pending += 1
    this.#connections.set(peer, connection)
    socket.once('close', () => {
      this.#settle(connection)
      if (this.#connections.get(peer) === connection) this.#connections.delete(peer)
    })
    this.#waiting.add(connection)
    this.#next()
  }

  /** Gives as many their turn as there is room for. */
  #next(): void {
    for (const connection of this.#waiting) {
      if (this.#handshakes >= this.#options.maxHandshakes) return
      this.#waiting.delete(connection)
      this.#begin(connection)
    }
  }

  #begin(connection: Connection): void {
    const { inject, handshakeTurnMs, establishTimeoutMs } = this.#options
    this.#handshakes += 1
    connection.turn = setTimeout(() => this.#endTurn(connection), handshakeTurnMs)
    connection.timer = setTimeout(() => connection.socket.destroy(), establishTimeoutMs)
    inject(connection.socket)
  }

  #endTurn(connection: Connection): void {
    if (connection.turn === undefined) return
    clearTimeout(connection.turn)
    connection.turn = undefined
    this.#handshakes -= 1
    this.#next()
  }

  #settle(connection: Connection): void {
    if (!connection.pending) return
    connection.pending = false
    clearTimeout(connection.timer)
    connection.timer = undefined
    this.#pending -= 1
    this.#waiting.delete(connection)
    this.#endTurn(connection)
  }
}

/** The form in which grpc-js names the peer of a call. */
function peerName({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined || remotePort === undefined ? undefined : `${remoteAddress}:${remotePort}`
}
