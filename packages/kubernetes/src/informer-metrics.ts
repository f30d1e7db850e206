import type { DriverMetrics } from '@osm-ts/driver-api'

import type { ResourceType } from './api.js'
import type { Outcome } from './reflector.js'

/** What an informer tells Prometheus. */
export interface InformerMeter {
  ended(what: 'list' | 'watch', outcome: Outcome): void
  /** The API server has told of a change. */
  told(type: 'ADDED' | 'MODIFIED' | 'DELETED', namespace: string): void
  /** Contact with the API server was lost. */
  lost(): void
  /** Contact is there again after a time, or is not looked for any more. */
  regained(seconds: number): void
}

/** As OSM names kinds of events, such as `pod-added`. */
const verbs = { ADDED: 'added', MODIFIED: 'updated', DELETED: 'deleted' } as const

const STALE_BUCKETS = [1, 5, 15, 60, 300, 1_800]

/**
 * The meter of the informer of a kind; without metrics one that counts nothing.
 *
 * Several informers of one kind share their series, one for each namespace for example, so that everything here has to
 * be something that adds up: kinds whose contact is lost now are `stale_count` less `stale_over_count`.
 */
export function informerMeter(metrics: DriverMetrics | undefined, type: ResourceType): InformerMeter {
  if (metrics === undefined) return silentMeter
  const resource = type.group === '' ? type.plural : `${type.plural}.${type.group}`
  const byOutcome = ['resource', 'outcome']
  const lists = metrics.counter('osm_kubernetes_list_count', 'Lists of objects by outcome', byOutcome)
  const watches = metrics.counter('osm_kubernetes_watch_count', 'Watches of objects by outcome', byOutcome)
  const events = metrics.counter('osm_k8s_api_event_count', 'Changes of objects received from watches', [
    'type',
    'namespace',
  ])
  const kind = type.kind.toLowerCase()
  const losses = metrics.counter('osm_kubernetes_stale_count', 'Losses of contact with the API server', ['resource'])
  const ends = metrics.counter('osm_kubernetes_stale_over_count', 'Recoveries of contact with the API server', [
    'resource',
  ])
  // A histogram for each kind would be more series than all else that a controller has.
  const stale = metrics.histogram(
    'osm_kubernetes_stale_seconds',
    'Time during which objects may have been outdated',
    [],
    STALE_BUCKETS,
  )
  return {
    ended: (what, outcome) => (what === 'list' ? lists : watches).inc({ resource, outcome }),
    told: (what, namespace) => events.inc({ type: `${kind}-${verbs[what]}`, namespace }),
    lost: () => losses.inc({ resource }),
    regained: (seconds) => {
      ends.inc({ resource })
      stale.observe({}, seconds)
    },
  }
}

const silentMeter: InformerMeter = {
  ended: () => undefined,
  told: () => undefined,
  lost: () => undefined,
  regained: () => undefined,
}
