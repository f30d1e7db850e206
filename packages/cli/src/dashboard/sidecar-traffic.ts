import type { ShownProxy } from '@osm-ts/dashboard'

import type { GetMetrics } from './metrics-pages.js'
import { type ProxySample, type ReadTraffic, TrafficRates } from './traffic-rates.js'
import { readServiceCounters } from './upstream-counters.js'

/** Sidecars that are read at once. */
const METRICS_AT_ONCE = 8
/** Of a larger mesh no metrics are read: they would cost the machine of the page and the sidecars too much. */
const MAX_METRICS = 200

/**
 * Reads traffic from the metrics that sidecars serve. The first time there is none: rates take two readings.
 *
 * @param now - milliseconds since 1970
 */
export function sidecarTraffic(metrics: GetMetrics, now: () => number): ReadTraffic {
  const rates = new TrafficRates()
  return async (proxies) => {
    const samples: ProxySample[] = []
    const readOne = async (proxy: ShownProxy): Promise<void> => {
      // One that is starting, ending, or not to be reached has no traffic to show.
      const page = await metrics(proxy).catch(() => undefined)
      if (page !== undefined) samples.push({ proxy, at: now(), counters: readServiceCounters(page) })
    }
    if (proxies.length <= MAX_METRICS)
      for (let at = 0; at < proxies.length; at += METRICS_AT_ONCE)
        await Promise.all(proxies.slice(at, at + METRICS_AT_ONCE).map(readOne))
    return rates.take(samples)
  }
}
