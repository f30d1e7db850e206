import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'

import { OsmError } from '@osm-ts/driver-api'

/** Where connections go, and how many may wait. */
export interface ConnectionGateOptions {
  /** Takes over a connection that was accepted. */
  readonly inject: (socket: Socket) => void
  readonly maxPending: number
  readonly establishTimeoutMs: number
}

interface Connection {
  readonly socket: Socket
  /** Present until the connection is established. */
  timer: NodeJS.Timeout | undefined
  condemned: boolean
}

/**
 * Accepts connections before TLS does, and can cut them off.
 *
 * grpc-js has no way to close a connection from within a call, and gives a handshake two minutes. Here a connection has a few seconds to prove who it
 * is, and those that have not yet are bounded, so that neither half-open handshakes nor a storm of reconnecting proxies pile up.
 */
export class ConnectionGate {
  readonly #options: ConnectionGateOptions
  readonly #connections = new Map<string, Connection>()
  readonly #server = createServer({ noDelay: true, keepAlive: true }, (socket) => this.#accept(socket))
  #pending = 0

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
    const timer = setTimeout(() => socket.destroy(), this.#options.establishTimeoutMs)
    const connection: Connection = { socket, timer, condemned: false }
    this.#pending += 1
    this.#connections.set(peer, connection)
    socket.once('close', () => {
      this.#settle(connection)
      if (this.#connections.get(peer) === connection) this.#connections.delete(peer)
    })
    this.#options.inject(socket)
  }

  #settle(connection: Connection): void {
    if (connection.timer === undefined) return
    clearTimeout(connection.timer)
    connection.timer = undefined
    this.#pending -= 1
  }
}

/** The form in which grpc-js names the peer of a call. */
function peerName({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined || remotePort === undefined ? undefined : `${remoteAddress}:${remotePort}`
}
