import type { ApplyWork, DriverMetrics } from '@osm-ts/driver-api'

/** Upper bounds of the time of a whole push, in seconds. A debounce takes 0.1 at least and 1 at most. */
const PUSH_BUCKETS = [0.11, 0.15, 0.2, 0.3, 0.5, 1, 2, 5, 15, 60]
/** Upper bounds of the time of one stage, in seconds. */
const STAGE_BUCKETS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10]
const DEBOUNCE_BUCKETS = [0.05, 0.11, 0.2, 0.5, 1.1]

/** What a proxy that is connected can be. */
export type ConnectedState = 'applied' | 'rejected' | 'unknown'

const MS = 1000

/** Metrics of the way of a change to the proxies. Labelled by class, never by proxy. */
export class PushMetrics {
  readonly #convergence
  readonly #debounce
  readonly #queue
  readonly #driverQueue
  readonly #translate
  readonly #encode
  readonly #send
  readonly #bytes
  readonly #states
  readonly #classes = new Map<string, ClassSeries>()

  constructor(metrics: DriverMetrics) {
    const stage = (name: string, help: string) =>
      metrics.histogram(`osm_proxy_push_${name}_seconds`, help, ['class'], STAGE_BUCKETS)
    this.#convergence = metrics.histogram(
      'osm_proxy_convergence_seconds',
      'Time from the first event of a change until a proxy has acknowledged it',
      ['class'],
      PUSH_BUCKETS,
    )
    this.#debounce = metrics.histogram(
      'osm_policy_debounce_seconds',
      'Time from the first event of a change until policies are computed',
      [],
      DEBOUNCE_BUCKETS,
    )
    this.#queue = stage('queue', 'Time from a policy until the driver takes it')
    this.#driverQueue = stage('driver_queue', 'Time that work for a proxy waits for its turn in the driver')
    this.#translate = stage('translate', 'Time to translate the policy of a proxy to its configuration')
    this.#encode = stage('encode', 'Time to encode the configuration of a proxy')
    this.#send = stage('send', 'Time to send the configuration of a proxy')
    this.#bytes = metrics.counter('osm_proxy_push_bytes_count', 'Bytes of configuration sent', ['class'])
    this.#states = metrics.gauge('osm_proxy_apply_states', 'Connected proxies by the state of their policy', [
      'class',
      'state',
    ])
  }

  debounced(ms: number): void {
    this.#debounce.observe({}, ms / MS)
  }

  queued(proxyClass: string, ms: number): void {
    this.#queue.observe(this.#of(proxyClass).labels, ms / MS)
  }

  converged(proxyClass: string, ms: number): void {
    this.#convergence.observe(this.#of(proxyClass).labels, ms / MS)
  }

  worked(proxyClass: string, work: ApplyWork): void {
    const { labels } = this.#of(proxyClass)
    // What a report says nothing about was done before or comes later.
    if (work.queueMs > 0) this.#driverQueue.observe(labels, work.queueMs / MS)
    if (work.translateMs > 0) this.#translate.observe(labels, work.translateMs / MS)
    if (work.encodeMs > 0) this.#encode.observe(labels, work.encodeMs / MS)
    if (work.sendMs > 0) this.#send.observe(labels, work.sendMs / MS)
    if (work.bytes > 0) this.#bytes.inc(labels, work.bytes)
  }

  /** A proxy of that class goes from one state to another; undefined where it comes, or has gone. */
  moved(proxyClass: string, before: ConnectedState | undefined, after: ConnectedState | undefined): void {
    if (before === after) return
    const series = this.#of(proxyClass)
    if (series.counts === undefined) {
      series.counts = { applied: 0, rejected: 0, unknown: 0 }
      // Absent is not zero for those who alert by it.
      for (const labels of Object.values(series.byState)) this.#states.set(labels, 0)
    }
    if (before !== undefined) this.#states.set(series.byState[before], (series.counts[before] -= 1))
    if (after !== undefined) this.#states.set(series.byState[after], (series.counts[after] += 1))
  }

  #of(proxyClass: string): ClassSeries {
    let series = this.#classes.get(proxyClass)
    if (series === undefined) this.#classes.set(proxyClass, (series = seriesOf(proxyClass)))
    return series
  }
}

/** What metrics of a class are labelled by. Values come for each proxy and change, so that labels are made once, and frozen. */
interface ClassSeries {
  readonly labels: { readonly class: string }
  readonly byState: Readonly<Record<ConnectedState, { readonly class: string; readonly state: ConnectedState }>>
  /** Connected proxies; undefined before the first. */
  counts: Record<ConnectedState, number> | undefined
}

function seriesOf(proxyClass: string): ClassSeries {
  const ofState = (state: ConnectedState) => Object.freeze({ class: proxyClass, state })
  return {
    labels: Object.freeze({ class: proxyClass }),
    byState: { applied: ofState('applied'), rejected: ofState('rejected'), unknown: ofState('unknown') },
    counts: undefined,
  }
}
