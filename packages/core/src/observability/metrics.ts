import { type DriverMetrics } from '@osm-ts/driver-api'
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'

/** Label combinations that one metric may have; further ones are counted under `other`, so that a mesh of any size has a bounded page. */
export const MAX_SERIES_PER_METRIC = 200

/** Characters that a label value may have; a longer one is counted under `other`. */
export const MAX_LABEL_LENGTH = 128

const OTHER = 'other'

/** The metrics of a process: one registry, declared names, bounded series. */
export class Metrics implements DriverMetrics {
  readonly #registry = new Registry()

  /** Adds the process and runtime metrics (CPU, memory, event-loop lag). */
  collectProcessMetrics(): void {
    collectDefaultMetrics({ register: this.#registry })
  }

  counter(name: string, help: string, labels: readonly string[]): ReturnType<DriverMetrics['counter']> {
    const counter = this.#once(
      name,
      () => new Counter({ name, help, labelNames: [...labels], registers: [this.#registry] }),
      Counter,
    )
    const series = boundedSeries(labels, (values) => counter.labels(values))
    return {
      inc: (values, by = 1) => {
        series(values).inc(by)
      },
    }
  }

  gauge(name: string, help: string, labels: readonly string[]): ReturnType<DriverMetrics['gauge']> {
    const gauge = this.#once(
      name,
      () => new Gauge({ name, help, labelNames: [...labels], registers: [this.#registry] }),
      Gauge,
    )
    const series = boundedSeries(labels, (values) => gauge.labels(values))
    return {
      set: (values, value) => {
        series(values).set(value)
      },
    }
  }

  histogram(
    name: string,
    help: string,
    labels: readonly string[],
    buckets: readonly number[],
  ): ReturnType<DriverMetrics['histogram']> {
    const histogram = this.#once(
      name,
      () => new Histogram({ name, help, labelNames: [...labels], buckets: [...buckets], registers: [this.#registry] }),
      Histogram,
    )
    const series = boundedSeries(labels, (values) => histogram.labels(values))
    return {
      observe: (values, seconds) => {
        series(values).observe(seconds)
      },
    }
  }

  /** The exposition text and its content type. */
  async render(): Promise<{ readonly contentType: string; readonly body: string }> {
    return { contentType: this.#registry.contentType, body: await this.#registry.metrics() }
  }

  #once<T>(name: string, make: () => T, type: abstract new (...args: never[]) => unknown): T {
    const existing = this.#registry.getSingleMetric(name)
    if (existing === undefined) return make()
    if (!(existing instanceof type)) throw new TypeError(`metric ${name} is declared with another type already`)
    return existing as T
  }
}

/**
 * Keeps label combinations of one metric below {@link MAX_SERIES_PER_METRIC}, and their values within {@link MAX_LABEL_LENGTH}. The registry
 * checks and sorts labels each time it is given some; here each combination is shown to it once.
 */
function boundedSeries<T>(
  names: readonly string[],
  make: (labels: Record<string, string>) => T,
): (values: Readonly<Record<string, string>>) => T {
  const known = new Map<string, T>()
  const makeFor = (valueOf: (name: string) => string): T =>
    make(Object.fromEntries(names.map((name) => [name, valueOf(name)])))
  let others: T | undefined
  return (values) => {
    let key = ''
    for (const name of names) {
      const value = boundedValue(values[name] ?? '')
      // With its length before it a value can not be mistaken for parts of two.
      key += `${value.length}:${value}`
    }
    const found = known.get(key)
    if (found !== undefined) return found
    if (known.size >= MAX_SERIES_PER_METRIC) return (others ??= makeFor(() => OTHER))
    const series = makeFor((name) => boundedValue(values[name] ?? ''))
    known.set(key, series)
    return series
  }
}

function boundedValue(value: string): string {
  return value.length > MAX_LABEL_LENGTH ? OTHER : value
}
