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
  /** Connections that may be between their turn and their first configuration at the same moment. */
  readonly maxArrivals: number
  /** A first configuration that takes longer does not keep others waiting any more. Milliseconds from when the peer has proven who it is. */
  readonly arrivalTurnMs: number
  /** From its turn on. Milliseconds. */
  readonly establishTimeoutMs: number
}

/** What others wait for: the handshake of a connection, its first configuration, or nothing. */
type Stage = 'handshake' | 'arrival' | 'none'

interface Connection {
  readonly socket: Socket
  /** Until it is established. */
  pending: boolean
  /** Cuts the connection if it is not established in time. */
  timer: NodeJS.Timeout | undefined
  /** Ends what others wait for at the moment. */
  turn: NodeJS.Timeout | undefined
  stage: Stage
  condemned: boolean
}

/**
 * Accepts connections before TLS does, and can cut them off.
 *
 * grpc-js has no way to close a connection from within a call, and gives a handshake two minutes. Here a connection has a few seconds to prove who it
 * is, and those that have not yet are bounded, so that half-open handshakes do not pile up.
 *
 * When thousands of proxies come back at once, each handshake costs about a millisecond. All of them together would keep the event loop from everything else
 * and each other from an end before their peers give up. So a few have their turn, and then the next. Who has shown who it is is asked about, told and heard
 * many times before it has its first configuration; what all that are so far say within one turn of the event loop is answered in that turn. So they are
 * bounded as well.
 */
export class ConnectionGate {
  readonly #options: ConnectionGateOptions
  readonly #connections = new Map<string, Connection>()
  readonly #server = createServer({ noDelay: true, keepAlive: true }, (socket) => this.#accept(socket))
  /** In the order in which they came. */
  readonly #waiting = new Set<Connection>()
  #pending = 0
  #handshakes = 0
  #arrivals = 0

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

  /** The peer has its first configuration. */
  arrived(peer: string): void {
    const connection = this.#connections.get(peer)
    if (connection?.stage === 'arrival') this.#endTurn(connection)
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
    const connection: Connection = {
      socket,
      pending: true,
      timer: undefined,
      turn: undefined,
      stage: 'none',
      condemned: false,
    }
    this.#pending += 1
    this.#connections.set(peer, connection)
    socket.once('close', () => {
      this.#settle(connection)
      this.#endTurn(connection)
      if (this.#connections.get(peer) === connection) this.#connections.delete(peer)
    })
    this.#waiting.add(connection)
    this.#next()
  }

  /** Gives as many their turn as there is room for. */
  #next(): void {
    const { maxHandshakes, maxArrivals } = this.#options
    for (const connection of this.#waiting) {
      if (this.#handshakes >= maxHandshakes || this.#handshakes + this.#arrivals >= maxArrivals) return
      this.#waiting.delete(connection)
      this.#begin(connection)
    }
  }

  #begin(connection: Connection): void {
    const { inject, handshakeTurnMs, establishTimeoutMs } = this.#options
    this.#handshakes += 1
    connection.stage = 'handshake'
    connection.turn = setTimeout(() => this.#endTurn(connection), handshakeTurnMs)
    connection.timer = setTimeout(() => connection.socket.destroy(), establishTimeoutMs)
    inject(connection.socket)
  }

  /** Others wait no more for this connection. */
  #endTurn(connection: Connection): void {
    if (connection.stage === 'none') return
    this.#leaveStage(connection)
    this.#next()
  }

  #leaveStage(connection: Connection): void {
    clearTimeout(connection.turn)
    connection.turn = undefined
    if (connection.stage === 'handshake') this.#handshakes -= 1
    if (connection.stage === 'arrival') this.#arrivals -= 1
    connection.stage = 'none'
  }

  #settle(connection: Connection): void {
    if (!connection.pending) return
    connection.pending = false
    clearTimeout(connection.timer)
    connection.timer = undefined
    this.#pending -= 1
    this.#waiting.delete(connection)
    if (connection.stage !== 'handshake') return
    this.#leaveStage(connection)
    this.#arrivals += 1
    connection.stage = 'arrival'
    connection.turn = setTimeout(() => this.#endTurn(connection), this.#options.arrivalTurnMs)
    this.#next()
  }
}

/** The form in which grpc-js names the peer of a call. */
function peerName({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined || remotePort === undefined ? undefined : `${remoteAddress}:${remotePort}`
}
