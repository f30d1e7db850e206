import type { DriverMetrics } from '@osm-ts/driver-api'

/** Upper bounds of the time from a document to its acknowledgement, in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** What a worker may ask for, as a label. */
export type RequestKind = 'manifest' | 'file' | 'etags' | 'status' | 'config' | 'plugins' | 'link' | 'other'

/** Metrics of the repo server. Single workers are on the debug page: a series for each that was ever seen grows without bound. */
export class RepoMetrics {
  readonly #connected
  readonly #requests
  readonly #updates
  readonly #refused
  readonly #failed
  readonly #overdue
  readonly #duplicates
  readonly #plugins
  #workers = 0

  constructor(metrics: DriverMetrics) {
    this.#connected = metrics.gauge('osm_pipy_workers_connected', 'Workers with a request in the last 15 seconds', [])
    this.#requests = metrics.counter('osm_pipy_repo_request_count', 'Requests to the repo server', ['kind', 'code'])
    this.#updates = metrics.histogram(
      'osm_pipy_config_update_time',
      'Seconds from a configuration to its acknowledgement',
      [],
      BUCKETS,
    )
    this.#refused = metrics.counter('osm_pipy_config_refused_count', 'Configurations rejected by a worker', [])
    this.#failed = metrics.counter('osm_pipy_translation_error_count', 'Policies that failed to be translated', [])
    this.#overdue = metrics.counter('osm_pipy_reload_push_count', 'Requests to workers to reload everything', [
      'lacking',
    ])
    this.#duplicates = metrics.counter(
      'osm_pipy_duplicate_worker_count',
      'Proxies with a certificate that several workers use',
      [],
    )
    this.#plugins = metrics.counter('osm_pipy_plugin_fault_count', 'Scripts of Plugins that failed to load or to run', [
      'stage',
    ])
    this.#connected.set({}, 0)
  }

  connected(): void {
    this.#workers += 1
    this.#connected.set({}, this.#workers)
  }

  disconnected(): void {
    this.#workers -= 1
    this.#connected.set({}, this.#workers)
  }

  requested(kind: RequestKind, code: number): void {
    this.#requests.inc({ kind, code: String(code) })
  }

  acknowledged(seconds: number): void {
    this.#updates.observe({}, seconds)
  }

  refused(): void {
    this.#refused.inc({})
  }

  failed(): void {
    this.#failed.inc({})
  }

  overdue(lacking: 'codebase' | 'config'): void {
    this.#overdue.inc({ lacking })
  }

  pluginFaults(stage: 'refused' | 'load' | 'run', count: number): void {
    if (count > 0) this.#plugins.inc({ stage }, count)
  }

  duplicate(): void {
    this.#duplicates.inc({})
  }
}
