import type { DriverMetrics } from '@osm-ts/driver-api'

import type { ResourceType } from './api.js'
import type { InformerState } from './informer-types.js'
import type { Outcome } from './reflector.js'

/** What an informer tells Prometheus. */
export interface InformerMeter {
  ended(what: 'list' | 'watch', outcome: Outcome): void
  relisted(): void
  state(state: InformerState): void
  objects(count: number): void
}

/** The meter of the informer of a kind; without metrics one that counts nothing. */
export function informerMeter(metrics: DriverMetrics | undefined, type: ResourceType): InformerMeter {
  if (metrics === undefined) return silentMeter
  const resource = type.group === '' ? type.plural : `${type.plural}.${type.group}`
  const byOutcome = ['resource', 'outcome']
  const lists = metrics.counter('osm_kubernetes_list_count', 'lists by their outcome', byOutcome)
  const watches = metrics.counter('osm_kubernetes_watch_count', 'watches by their outcome', byOutcome)
  const relists = metrics.counter('osm_kubernetes_relist_count', 'complete lists after the first', ['resource'])
  const objects = metrics.gauge('osm_kubernetes_informer_objects', 'objects that are kept', ['resource'])
  const synced = metrics.gauge('osm_kubernetes_informer_synced', '1 if the first list is complete', ['resource'])
  const stale = metrics.gauge(
    'osm_kubernetes_informer_stale_since_seconds',
    'time of the last contact with the API server, in seconds since 1970; 0 while in contact',
    ['resource'],
  )
  return {
    ended: (what, outcome) => (what === 'list' ? lists : watches).inc({ resource, outcome }),
    relisted: () => relists.inc({ resource }),
    objects: (count) => objects.set({ resource }, count),
    state: (state) => {
      synced.set({ resource }, state.state === 'syncing' ? 0 : 1)
      stale.set({ resource }, state.state === 'stale' ? Math.floor(state.since / 1_000) : 0)
    },
  }
}

const silentMeter: InformerMeter = {
  ended: () => undefined,
  relisted: () => undefined,
  objects: () => undefined,
  state: () => undefined,
}
