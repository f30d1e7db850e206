import type { Socket } from 'node:net'

import { isAnswerable } from './client-hello.js'
import type { ServerConnectionLimits, ConnectionStage } from './connection-limits.js'
import { ConnectionPool } from './connection-pool.js'
import { FairQueue } from './fair-queue.js'
import { type ConnectionLimit, LimitReport, type LimitReportOptions } from './limit-report.js'
import { sourceOf } from './source-address.js'

/** Pieces in which a first message may come; each costs time. */
const MAX_PIECES = 64
/** Bytes that a peer may send before its handshake. A ClientHello has 200 to 3,000. */
const MAX_FIRST_BYTES = 8 * 1024
/** Time for which handshakes may begin before others have the event loop; each takes about a millisecond. */
const BEGIN_MS = 1
/**
 * Node.js accepts one connection in a turn of the event loop. While connections come, so many turns accept only, or the kernel's queue is full before those
 * in it are checked, and new peers are refused there.
 */
const MAX_ACCEPTING_TURNS = 32

/** What a guard needs. */
export interface ConnectionGuardOptions extends LimitReportOptions {
  /** With `tls` a connection has to wait for its handshake; with `plain` it is open with its first byte, that of a request of HTTP. */
  readonly protocol: 'tls' | 'plain'
  /** Takes over a connection whose turn it is, and which has sent its first message. */
  readonly inject: (socket: Socket, connection: GuardedConnection) => void
  /** Limits of each stage. */
  readonly limits: ServerConnectionLimits
  /** False while no further handshake should begin; {@link ConnectionGuard.continue} looks again. */
  readonly mayBegin?: (handshakes: number) => boolean
}

/** A connection that a guard watches over. */
export interface GuardedConnection {
  /** The raw socket, below TLS. */
  readonly socket: Socket
  /** Address of its peer, or the subnet. */
  readonly source: string
  /** Where it is now. */
  readonly stage: ConnectionStage | 'closed'
}

interface Guarded extends GuardedConnection {
  stage: ConnectionStage | 'closed'
  /** What it is counted by in its stage. */
  key: string
  /** First bytes, until they are handed on. */
  first: Buffer[]
  timer: NodeJS.Timeout | undefined
  /** Set while others wait for its handshake. */
  turn: NodeJS.Timeout | undefined
  /** Stops listening for first bytes. */
  detach: () => void
}

/**
 * Watches over connections of a server from the moment they are accepted, before TLS costs anything.
 *
 * A connection is a raw socket until its first message is complete: a silent peer costs a socket for a few seconds, and no turn of others. Handshakes take turns by
 * source address. Connections are bounded in each stage, for each peer and in all; the one that has to go is the oldest of the peer with most. Peers with a
 * verified certificate have places of their own, which no others can take.
 */
export class ConnectionGuard {
  readonly #options: ConnectionGuardOptions
  readonly #now: () => number
  readonly #report: LimitReport
  readonly #pools: Readonly<Record<ConnectionStage, ConnectionPool<Guarded>>>
  readonly #queue: FairQueue<Guarded>
  readonly #all = new Set<Guarded>()
  readonly #turnsOf = new Map<string, number>()
  #turns = 0
  /** Set while others have the event loop. */
  #pause: NodeJS.Immediate | undefined
  #acceptedInPause = false
  #stopped = false

  /** Does not listen: the server that accepts connections passes them on. */
  constructor(options: ConnectionGuardOptions) {
    const { limits, now = () => performance.now() } = options
    this.#options = options
    this.#now = now
    this.#report = new LimitReport(options)
    this.#queue = new FairQueue(limits.waiting.newestFirstAfterMs, now)
    this.#pools = {
      silent: new ConnectionPool(limits.silent),
      waiting: new ConnectionPool(limits.waiting),
      handshaking: new ConnectionPool(limits.handshaking),
      anonymous: new ConnectionPool(limits.anonymous),
      authenticated: new ConnectionPool(limits.authenticated),
    }
  }

  /** Open connections in all stages. */
  get size(): number {
    return this.#all.size
  }

  /** Connections in a stage. */
  sizeOf(stage: ConnectionStage): number {
    return this.#pools[stage].size
  }

  /** Takes a connection that was just accepted. Undefined if it is closed already. */
  accept(socket: Socket): GuardedConnection | undefined {
    // An error is followed by a close, which is what counts.
    socket.on('error', () => undefined)
    const { remoteAddress } = socket
    if (remoteAddress === undefined || this.#stopped) {
      socket.destroy()
      return undefined
    }
    this.#acceptedInPause = true
    const source = sourceOf(remoteAddress)
    const read = (): void => this.#readFirst(connection)
    // Servers of HTTP keep connections of which the peer has closed its half.
    const end = (): void => void socket.destroy()
    const connection: Guarded = {
      socket,
      source,
      stage: 'closed',
      key: source,
      first: [],
      timer: undefined,
      turn: undefined,
      detach: () => {
        socket.off('readable', read)
        socket.off('end', end)
      },
    }
    this.#all.add(connection)
    socket.once('close', () => this.#forget(connection))
    this.#enter(connection, 'silent', source, this.#options.limits.silent.timeoutMs)
    socket.on('readable', read)
    socket.once('end', end)
    return connection
  }

  /**
   * A peer has shown who it is, or that it does not say so.
   *
   * @param identity - by which its connections are counted; undefined for a peer without a verified certificate
   */
  open(connection: GuardedConnection, identity?: string): void {
    const guarded = connection as Guarded // made by accept, which makes no others
    if (guarded.stage !== 'handshaking') return
    if (identity === undefined) this.#enter(guarded, 'anonymous', guarded.source)
    else this.#enter(guarded, 'authenticated', identity)
    this.#endTurn(guarded)
  }

  /** Begins handshakes for which there is room. */
  continue(): void {
    const { handshaking } = this.#options.limits
    const mayTake = (source: string): boolean => (this.#turnsOf.get(source) ?? 0) < handshaking.turnsPerSource
    const until = this.#now() + BEGIN_MS
    while (
      this.#pause === undefined &&
      this.#turns < handshaking.turns &&
      this.#options.mayBegin?.(this.#turns) !== false
    ) {
      const next = this.#queue.take(mayTake)
      if (next === undefined) return
      this.#begin(next)
      if (this.#now() >= until) this.#yield(MAX_ACCEPTING_TURNS)
    }
  }

  /** Accepts no more and closes connections that are not open yet. */
  stop(): void {
    this.#stopped = true
    this.#report.flush()
    for (const { stage, socket } of this.#all) if (stage !== 'anonymous' && stage !== 'authenticated') socket.destroy()
  }

  /** Accepts no more and closes all connections. */
  destroy(): void {
    this.stop()
    for (const { socket } of this.#all) socket.destroy()
  }

  #readFirst(connection: Guarded): void {
    const { socket, first } = connection
    for (let chunk = read(socket); chunk !== undefined; chunk = read(socket)) first.push(chunk)
    const bytes = first.reduce((sum, { length }) => sum + length, 0)
    if (bytes === 0) return
    if (this.#options.protocol === 'plain') {
      if (!isLetter(first[0]?.[0])) {
        this.#close(connection, 'protocol')
        return
      }
      this.#enter(connection, 'anonymous', connection.source)
      this.#inject(connection)
      return
    }
    if (bytes > MAX_FIRST_BYTES || first.length > MAX_PIECES) this.#close(connection, 'size')
    else if (connection.stage === 'silent' && isAnswerable(first)) {
      this.#queue.add(connection.source, connection)
      this.#enter(connection, 'waiting', connection.source, this.#options.limits.waiting.timeoutMs)
      this.continue()
    }
  }

  /** Lets others have the event loop, for longer while connections come. */
  #yield(turns: number): void {
    this.#acceptedInPause = false
    this.#pause = setImmediate(() => {
      this.#pause = undefined
      if (this.#acceptedInPause && turns > 1) this.#yield(turns - 1)
      else this.continue()
    })
  }

  #begin(connection: Guarded): void {
    const { timeoutMs, turnMs } = this.#options.limits.handshaking
    this.#turns += 1
    this.#turnsOf.set(connection.source, (this.#turnsOf.get(connection.source) ?? 0) + 1)
    connection.turn = setTimeout(() => this.#endTurn(connection), turnMs)
    this.#enter(connection, 'handshaking', connection.source, timeoutMs)
    if (connection.stage === 'handshaking') this.#inject(connection)
  }

  #inject(connection: Guarded): void {
    const { socket, first } = connection
    connection.detach()
    connection.first = []
    if (socket.destroyed) return
    socket.unshift(Buffer.concat(first))
    this.#options.inject(socket, connection)
  }

  /** Others no longer wait for the handshake of a connection. */
  #endTurn(connection: Guarded): void {
    if (connection.turn === undefined) return
    clearTimeout(connection.turn)
    connection.turn = undefined
    this.#turns -= 1
    const left = (this.#turnsOf.get(connection.source) ?? 1) - 1
    if (left === 0) this.#turnsOf.delete(connection.source)
    else this.#turnsOf.set(connection.source, left)
    this.continue()
  }

  #enter(connection: Guarded, stage: ConnectionStage, key: string, timeoutMs?: number): void {
    this.#leave(connection)
    connection.stage = stage
    connection.key = key
    if (timeoutMs !== undefined) connection.timer = setTimeout(() => this.#close(connection, 'timeout'), timeoutMs)
    const surplus = this.#pools[stage].add(key, connection)
    if (surplus !== undefined) this.#close(surplus.member, surplus.limit === 'per key' ? 'per-peer' : 'in-all')
  }

  #leave(connection: Guarded): void {
    clearTimeout(connection.timer)
    connection.timer = undefined
    if (connection.stage === 'closed') return
    if (connection.stage === 'waiting') this.#queue.delete(connection.source, connection)
    this.#pools[connection.stage].delete(connection.key, connection)
    connection.stage = 'closed'
  }

  #close(connection: Guarded, limit: ConnectionLimit): void {
    if (connection.stage !== 'closed') this.#report.closed(connection.stage, limit, connection.source)
    this.#forget(connection)
    connection.socket.destroy()
  }

  #forget(connection: Guarded): void {
    connection.first = []
    this.#leave(connection)
    this.#all.delete(connection)
    this.#endTurn(connection)
  }
}

/** What the name of an HTTP method begins with. An answer to anything else would cost more than its question. */
function isLetter(byte = 0): boolean {
  return byte >= 0x41 && byte <= 0x5a
}

function read(socket: Socket): Buffer | undefined {
  const chunk: unknown = socket.read()
  return Buffer.isBuffer(chunk) ? chunk : undefined
}
