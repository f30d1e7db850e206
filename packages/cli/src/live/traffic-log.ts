import type { ReportedRequest } from '@osm-ts/standalone'

/** What one client has met on one path. */
export interface TrafficRow {
  readonly client: string
  readonly namespace: string
  readonly target: string
  readonly path: string
  /** Answers with a status of 200 to 299. */
  readonly allowed: number
  /** Everything else. */
  readonly denied: number
  /** How often each status came; 0 stands for no answer. */
  readonly statuses: Readonly<Record<string, number>>
  /** How often each server answered. */
  readonly servers: Readonly<Record<string, number>>
  readonly last: ReportedRequest
  /** Requests per second, over the last seconds. */
  readonly rate: number
}

/** Seconds over which rates are taken. */
const rateWindow = 10
/** Paths that are counted one by one; a program that calls more of them does not fill the memory. */
const maxRows = 200

interface Counter {
  allowed: number
  denied: number
  readonly statuses: Map<number, number>
  readonly servers: Map<string, number>
  last: ReportedRequest
  /** Requests by second since 1970, the last {@link rateWindow} seconds only. */
  readonly seconds: Map<number, number>
}

/** True for an answer that says that the request was let through. */
export function isAllowed({ status }: Pick<ReportedRequest, 'status'>): boolean {
  return status >= 200 && status <= 299
}

/** Counts the requests that workloads report. */
export class TrafficLog {
  readonly #counters = new Map<string, Counter>()
  readonly #since: number

  /** @param since - requests that began earlier, in milliseconds since 1970, don't count */
  constructor(since = 0) {
    this.#since = since
  }

  record(request: ReportedRequest): void {
    if (request.time - request.durationMs < this.#since) return
    const { client, namespace, target, path } = request
    const key = JSON.stringify([namespace, client, target, path])
    const counter = this.#counters.get(key) ?? this.#add(key, request)
    if (counter === undefined) return
    if (isAllowed(request)) counter.allowed += 1
    else counter.denied += 1
    increment(counter.statuses, request.status)
    if (request.server !== undefined) increment(counter.servers, request.server)
    counter.last = request
    const second = Math.floor(request.time / 1000)
    increment(counter.seconds, second)
    for (const old of counter.seconds.keys()) if (old < second - rateWindow) counter.seconds.delete(old)
  }

  /** All rows, sorted by client, target and path. */
  rows(now: number): readonly TrafficRow[] {
    return [...this.#counters]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { allowed, denied, statuses, servers, last, seconds }]) => ({
        client: last.client,
        namespace: last.namespace,
        target: last.target,
        path: last.path,
        allowed,
        denied,
        statuses: Object.fromEntries([...statuses].sort(([a], [b]) => a - b)),
        servers: Object.fromEntries([...servers].sort(([a], [b]) => (a < b ? -1 : 1))),
        last,
        rate: rateOf(seconds, now),
      }))
  }

  #add(key: string, last: ReportedRequest): Counter | undefined {
    if (this.#counters.size >= maxRows) return undefined
    const counter: Counter = {
      allowed: 0,
      denied: 0,
      statuses: new Map(),
      servers: new Map(),
      last,
      seconds: new Map(),
    }
    this.#counters.set(key, counter)
    return counter
  }
}

/** Over whole seconds: the running one is not over yet. */
function rateOf(seconds: ReadonlyMap<number, number>, now: number): number {
  const current = Math.floor(now / 1000)
  const counted = [...seconds].filter(([second]) => second < current && second >= current - rateWindow)
  if (counted.length === 0) return 0
  const first = Math.min(...counted.map(([second]) => second))
  return counted.reduce((sum, [, count]) => sum + count, 0) / (current - first)
}

function increment<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
