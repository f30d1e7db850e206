import { type AddressInfo, createServer, type Socket } from 'node:net'

import { OsmError } from '@osm-ts/driver-api'
import {
  ConnectionGuard,
  type ConnectionGuardOptions,
  type ServerConnectionLimits,
  type GuardedConnection,
  listenBacklog,
} from '@osm-ts/driver-api/toolkit'

/** Where connections go, and how many there may be. */
export interface ProxyConnectionsOptions extends Pick<ConnectionGuardOptions, 'metrics' | 'logger'> {
  /** Takes over a connection whose turn it is. */
  readonly inject: (socket: Socket) => void
  /** A connection shakes hands until its first stream is authenticated. */
  readonly limits: ServerConnectionLimits
  /** Connections that may be between the start of their handshake and their first configuration at the same moment. */
  readonly maxArrivals: number
  /** A first configuration that takes longer does not keep others waiting. Milliseconds from when the peer has proven who it is. */
  readonly arrivalTurnMs: number
}

interface Connection {
  readonly guarded: GuardedConnection
  /** Set while others wait for its first configuration. */
  arrival: NodeJS.Timeout | undefined
  condemned: boolean
}

/**
 * Accepts connections of proxies before TLS does, and can close them: grpc-js cannot close a connection from within a call.
 *
 * When thousands of proxies return at once, each handshake costs about a millisecond. All of them together would keep the event loop from everything else
 * and each other from an end before their peers give up. So a few have their turn, and then the next. A proxy that has shown who it is exchanges many
 * messages before it has its first configuration, and one turn of the event loop answers all that have come. So these are bounded as well.
 */
export class ProxyConnections {
  readonly #options: ProxyConnectionsOptions
  readonly #guard: ConnectionGuard
  readonly #connections = new Map<string, Connection>()
  readonly #server = createServer({ noDelay: true, keepAlive: true }, (socket) => this.#accept(socket))
  #arrivals = 0

  constructor(options: ProxyConnectionsOptions) {
    const { inject, limits, metrics, logger, maxArrivals } = options
    this.#options = options
    this.#guard = new ConnectionGuard({
      server: 'xds',
      protocol: 'tls',
      inject,
      limits,
      metrics,
      logger,
      mayBegin: (handshakes) => handshakes + this.#arrivals < maxArrivals,
    })
  }

  /** Connections that are open. */
  get size(): number {
    return this.#guard.size
  }

  get listening(): boolean {
    return this.#server.listening
  }

  /** @returns the port */
  async listen(host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      const fail = (cause: Error) =>
        reject(new OsmError('OSM_DRIVER_START', `the xDS server cannot listen on ${host}:${port}`, { cause }))
      this.#server.once('error', fail)
      this.#server.listen({ host, port, backlog: listenBacklog }, () => {
        this.#server.off('error', fail)
        // Running out of file descriptors must not end the process; the next connection may find one.
        this.#server.on('error', () => undefined)
        resolve()
      })
    })
    return (this.#server.address() as AddressInfo).port
  }

  /**
   * The peer has proven who it is.
   *
   * @param identity - by which its connections are counted
   */
  establish(peer: string, identity: string): void {
    const connection = this.#connections.get(peer)
    if (connection?.guarded.stage !== 'handshaking') return
    this.#arrivals += 1
    connection.arrival = setTimeout(() => this.#endArrival(connection), this.#options.arrivalTurnMs)
    this.#guard.open(connection.guarded, identity)
  }

  /** The peer has its first configuration. */
  arrived(peer: string): void {
    const connection = this.#connections.get(peer)
    if (connection !== undefined) this.#endArrival(connection)
  }

  /** Closes the connection of a peer at once. */
  cut(peer: string): void {
    this.#connections.get(peer)?.guarded.socket.destroy()
  }

  /** Closes the connection of a peer when what is on its way to it had time to leave. */
  condemn(peer: string, graceMs: number): void {
    const connection = this.#connections.get(peer)
    if (connection === undefined || connection.condemned) return
    connection.condemned = true
    setTimeout(() => connection.guarded.socket.destroy(), graceMs).unref()
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
    this.#guard.destroy()
    await closed
  }

  #accept(socket: Socket): void {
    const peer = peerName(socket)
    const guarded = this.#guard.accept(socket)
    if (peer === undefined || guarded === undefined) return
    const connection: Connection = { guarded, arrival: undefined, condemned: false }
    this.#connections.set(peer, connection)
    socket.once('close', () => {
      this.#endArrival(connection)
      if (this.#connections.get(peer) === connection) this.#connections.delete(peer)
    })
  }

  #endArrival(connection: Connection): void {
    if (connection.arrival === undefined) return
    clearTimeout(connection.arrival)
    connection.arrival = undefined
    this.#arrivals -= 1
    this.#guard.continue()
  }
}

/** The form in which grpc-js names the peer of a call. */
function peerName({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined || remotePort === undefined ? undefined : `${remoteAddress}:${remotePort}`
}
