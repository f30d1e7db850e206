import type { DriverMetrics, Logger } from '../../controller-context.js'
import type { ConnectionStage } from './connection-limits.js'

/** Codes of connection limits of servers. */
export const connectionErrorCodes = {
  OSM_CONNECTION_LIMIT:
    'a server closed connections because of its limits: too many connections of one peer or in total, or a slow peer; see docs/reference/server-limits.md',
} as const

/** Code of {@link connectionErrorCodes}. */
export type ConnectionErrorCode = keyof typeof connectionErrorCodes

/** Why a connection was closed: too slow, too many of its peer, too many of all peers, too many bytes before its turn, or bytes that are not HTTP. */
export type ConnectionLimit = 'timeout' | 'per-peer' | 'in-all' | 'size' | 'protocol'

/** Time over which closed connections are added up, so that a flood costs neither metrics nor log much. */
const COLLECT_MS = 1_000
const LOG_INTERVAL_MS = 60_000
const CODE: ConnectionErrorCode = 'OSM_CONNECTION_LIMIT'

/** Where closed connections of a server are reported. */
export interface LimitReportOptions {
  /** Name of the server, for the label and the log, such as `xds`. */
  readonly server: string
  /** Where closed connections are counted. */
  readonly metrics: Pick<DriverMetrics, 'counter'>
  /** Where the line of each minute goes. */
  readonly logger: Pick<Logger, 'warn'>
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number
}

/** Counts connections that a server has closed because of its limits, and logs one line a minute at most. */
export class LimitReport {
  readonly #server: string
  readonly #logger: Pick<Logger, 'warn'>
  readonly #now: () => number
  readonly #closed
  /** Not counted yet. */
  readonly #recent = new Map<string, { stage: ConnectionStage; limit: ConnectionLimit; count: number }>()
  /** Not logged yet. */
  readonly #unlogged = new Map<string, number>()
  #peer = ''
  #loggedAt = -Infinity
  #timer: NodeJS.Timeout | undefined

  /** Declares the metric. */
  constructor({ server, metrics, logger, now = () => performance.now() }: LimitReportOptions) {
    this.#server = server
    this.#logger = logger
    this.#now = now
    this.#closed = metrics.counter(
      'osm_server_closed_connection_count',
      'Connections closed by a server because of its limits',
      ['server', 'stage', 'limit'],
    )
  }

  /** A connection was closed. */
  closed(stage: ConnectionStage, limit: ConnectionLimit, source: string): void {
    const key = `${stage} ${limit}`
    const recent = this.#recent.get(key) ?? { stage, limit, count: 0 }
    recent.count += 1
    this.#recent.set(key, recent)
    this.#peer = source
    this.#timer ??= setTimeout(() => this.flush(), COLLECT_MS).unref()
  }

  /** Counts what was closed, and logs it unless that was done a short time ago. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const [key, { stage, limit, count }] of this.#recent) {
      this.#closed.inc({ server: this.#server, stage, limit }, count)
      this.#unlogged.set(key, (this.#unlogged.get(key) ?? 0) + count)
    }
    this.#recent.clear()
    if (this.#unlogged.size === 0 || this.#now() - this.#loggedAt < LOG_INTERVAL_MS) return
    this.#loggedAt = this.#now()
    const closed = Object.fromEntries(this.#unlogged)
    this.#unlogged.clear()
    this.#logger.warn(
      { code: CODE, server: this.#server, closed, lastPeer: this.#peer },
      'connections were closed because of the limits of the server',
    )
  }
}
