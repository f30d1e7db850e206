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
    const bound = boundedLabels(labels)
    return {
      inc: (values, by = 1) => {
        counter.inc(bound(values), by)
      },
    }
  }

  gauge(name: string, help: string, labels: readonly string[]): ReturnType<DriverMetrics['gauge']> {
    const gauge = this.#once(
      name,
      () => new Gauge({ name, help, labelNames: [...labels], registers: [this.#registry] }),
      Gauge,
    )
    const bound = boundedLabels(labels)
    return {
      set: (values, value) => {
        gauge.set(bound(values), value)
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
    const bound = boundedLabels(labels)
    return {
      observe: (values, seconds) => {
        histogram.observe(bound(values), seconds)
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

/** Keeps label combinations of one metric below {@link MAX_SERIES_PER_METRIC}, and their values within {@link MAX_LABEL_LENGTH}. */
function boundedLabels(names: readonly string[]): (values: Readonly<Record<string, string>>) => Record<string, string> {
  const seen = new Set<string>()
  return (values) => {
    const labels = Object.fromEntries(names.map((name) => [name, boundedValue(values[name] ?? '')]))
    const key = JSON.stringify(labels)
    if (seen.has(key)) return labels
    if (seen.size >= MAX_SERIES_PER_METRIC) return Object.fromEntries(names.map((name) => [name, OTHER]))
    seen.add(key)
    return labels
  }
}

function boundedValue(value: string): string {
  return value.length > MAX_LABEL_LENGTH ? OTHER : value
}
