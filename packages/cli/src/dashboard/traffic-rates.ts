import type { ShownProxy, TrafficEdge } from '@osm-ts/dashboard'

import { accountOfIdentity } from './topology.js'
import type { ServiceCounters } from './upstream-counters.js'

type Counters = ReadonlyMap<string, ServiceCounters>

/** What the sidecar of a proxy has counted. */
export interface ProxySample {
  readonly proxy: Pick<ShownProxy, 'name' | 'uuid' | 'identity'>
  /** Milliseconds since 1970. */
  readonly at: number
  readonly counters: Counters
}

interface Sum {
  perSecond: number
  requests: number
  failed: number
  readonly durations: Map<number, number>
}

const QUANTILE = 0.99

/** Gives the recent traffic of proxies. Rejects if it cannot be read. */
export type ReadTraffic = (proxies: readonly ShownProxy[]) => Promise<readonly TrafficEdge[]>

/** Makes rates from counters that are read again and again. */
export class TrafficRates {
  #before: ReadonlyMap<string, ProxySample> = new Map()

  /** Traffic since the previous samples, by workload and service. A proxy that is new, or was started again, counts from the next time on. */
  take(samples: readonly ProxySample[]): readonly TrafficEdge[] {
    const sums = new Map<string, Sum & Pick<TrafficEdge, 'from' | 'to'>>()
    for (const { proxy, at, counters } of samples) {
      const before = this.#before.get(keyOf(proxy))
      const seconds = before === undefined ? 0 : (at - before.at) / 1000
      if (before === undefined || seconds <= 0) continue
      const from = `workload ${accountOfIdentity(proxy.identity) ?? proxy.name}`
      for (const [service, counted] of counters) {
        const delta = difference(counted, before.counters.get(service))
        if (delta.requests <= 0) continue
        const to = `service ${service}`
        const key = `${from}\0${to}`
        const sum = sums.get(key) ?? { from, to, perSecond: 0, requests: 0, failed: 0, durations: new Map() }
        sums.set(key, sum)
        sum.perSecond += delta.requests / seconds
        sum.requests += delta.requests
        sum.failed += delta.failed
        addTo(sum.durations, delta.durations)
      }
    }
    this.#before = new Map(samples.map((sample) => [keyOf(sample.proxy), sample]))
    return [...sums.values()].map(({ from, to, perSecond, requests, failed, durations }) => {
      const p99Ms = quantile(durations)
      return { from, to, perSecond, success: 1 - failed / requests, ...(p99Ms !== undefined && { p99Ms }) }
    })
  }
}

function keyOf({ name, uuid }: ProxySample['proxy']): string {
  return `${uuid} ${name}`
}

/** An upstream is counted from its first request on. Counters only fall when a sidecar was started again. */
function difference(now: ServiceCounters, before: ServiceCounters | undefined): ServiceCounters {
  const durations = [...now.durations].map(
    ([bound, count]) => [bound, count - (before?.durations.get(bound) ?? 0)] as const,
  )
  return {
    requests: now.requests - (before?.requests ?? 0),
    failed: Math.max(0, now.failed - (before?.failed ?? 0)),
    durations: new Map(durations.map(([bound, count]) => [bound, Math.max(0, count)])),
  }
}

function addTo(sums: Map<number, number>, more: ReadonlyMap<number, number>): void {
  for (const [bound, count] of more) sums.set(bound, (sums.get(bound) ?? 0) + count)
}

/** The 99th percentile as `histogram_quantile` of Prometheus computes it: linear within a bucket, and the last bound beyond all of them. */
export function quantile(durations: ReadonlyMap<number, number>): number | undefined {
  const buckets = [...durations].sort(([one], [other]) => one - other)
  const rank = QUANTILE * (buckets.at(-1)?.[1] ?? 0)
  let [lower, below] = [0, 0]
  if (rank === 0) return undefined
  for (const [bound, count] of buckets) {
    if (count >= rank) return bound === Infinity ? lower : lower + ((bound - lower) * (rank - below)) / (count - below)
    ;[lower, below] = [bound, count]
  }
  return undefined
}
