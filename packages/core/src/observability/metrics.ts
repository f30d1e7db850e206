import type { DriverMetrics } from '@osm-ts/driver-api'
import { readdir } from 'node:fs/promises'
import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client'

import { CountedHistogram } from './counted-histogram.js'

/**
 * Series that the label combinations of one metric may have, each bucket of a histogram being one; further combinations are counted under `other`, so
 * that a mesh of any size has a bounded page.
 */
export const MAX_SERIES_PER_METRIC = 80

/** Characters that a label value may have; a longer one is counted under `other`. */
export const MAX_LABEL_LENGTH = 128

const OTHER = 'other'
/** Series of a histogram beside its buckets: the one of all values, their sum and their count. */
const HISTOGRAM_SERIES = 3

type CounterHandle = ReturnType<DriverMetrics['counter']>
type GaugeHandle = ReturnType<DriverMetrics['gauge']>
type HistogramHandle = ReturnType<DriverMetrics['histogram']>

/**
 * Metrics of the library that are not served. Others say the same: there is a histogram of the event loop, a total of the heap, and a number of open
 * files. Lists of resources and open files also block the event loop for as long as there are connections: 3 µs for each one and request. The library has
 * one metric of a family look for all of it: without `nodejs_eventloop_lag_seconds` the maximum would always be 0.
 */
const UNWANTED = [
  ...['_min', '_mean', '_stddev', '_p50', '_p90', '_p99'].map((what) => `nodejs_eventloop_lag${what}_seconds`),
  ...['available', 'total', 'used'].map((what) => `nodejs_heap_space_size_${what}_bytes`),
  ...['resources', 'resources_total', 'handles', 'handles_total', 'requests', 'requests_total'].map(
    (what) => `nodejs_active_${what}`,
  ),
  'process_open_fds',
]

/** Where Linux lists the open files of the process. */
const OPEN_FILES = '/proc/self/fd'

/** Seconds. There are four kinds of collections, and each that has happened has all of them. */
const GC_BUCKETS = [0.01, 0.1]

/** The metrics of a process: one registry, declared names, bounded series. */
export class Metrics implements DriverMetrics {
  readonly #registry = new Registry()
  readonly #counters = new Map<string, CounterHandle>()
  readonly #gauges = new Map<string, GaugeHandle>()
  readonly #histograms = new Map<string, HistogramHandle>()

  /** Adds the process and runtime metrics (CPU, memory, the longest block of the event loop since the last look). */
  collectProcessMetrics(): void {
    collectDefaultMetrics({ register: this.#registry, gcDurationBuckets: GC_BUCKETS })
    for (const name of UNWANTED) this.#registry.removeSingleMetric(name)
    if (process.platform !== 'linux') return
    new Gauge({
      name: 'process_open_fds',
      help: 'Number of open file descriptors.',
      registers: [this.#registry],
      async collect() {
        // A process that can open no more files keeps its last number, and the rest of the page.
        const files = await readdir(OPEN_FILES).catch(() => undefined)
        // The folder itself is open while it is read.
        if (files !== undefined) this.set(files.length - 1)
      },
    })
  }

  counter(name: string, help: string, labels: readonly string[]): CounterHandle {
    return this.#once(this.#counters, name, (registers) => {
      const shown = shownWhenAsked<Counter>((counter, entry) => {
        counter.inc(entry.labels, entry.value)
        entry.value = 0
      })
      new Counter({ name, help, labelNames: [...labels], registers, collect: shown.collect })
      const series = boundedSeries(labels, shown.add)
      return {
        inc: (values, by = 1) => {
          if (!(by >= 0 && by < Number.POSITIVE_INFINITY))
            throw new TypeError(`metric ${name} counts upwards, not by ${String(by)}`)
          series(values).value += by
        },
      }
    })
  }

  gauge(name: string, help: string, labels: readonly string[]): GaugeHandle {
    return this.#once(this.#gauges, name, (registers) => {
      const shown = shownWhenAsked<Gauge>((gauge, entry) => gauge.set(entry.labels, entry.value))
      new Gauge({ name, help, labelNames: [...labels], registers, collect: shown.collect })
      const series = boundedSeries(labels, shown.add)
      return {
        set: (values, value) => {
          series(values).value = value
        },
      }
    })
  }

  histogram(name: string, help: string, labels: readonly string[], buckets: readonly number[]): HistogramHandle {
    return this.#once(this.#histograms, name, () => {
      const histogram = new CountedHistogram(name, help, buckets, this.#registry)
      const each = buckets.length + HISTOGRAM_SERIES
      const series = boundedSeries(labels, (values) => histogram.series(values), each)
      // Without labels there is one series, and it is there before the first value.
      if (labels.length === 0) series({})
      return {
        observe: (values, seconds) => {
          series(values).observe(seconds)
        },
      }
    })
  }

  /** The exposition text and its content type. */
  async render(): Promise<{ readonly contentType: string; readonly body: string }> {
    return { contentType: this.#registry.contentType, body: await this.#registry.metrics() }
  }

  /** Anyone who declares a metric once more gets the same one: its bound is that of all who use it. */
  #once<T>(known: Map<string, T>, name: string, make: (registers: Registry[]) => T): T {
    const existing = known.get(name)
    if (existing !== undefined) return existing
    if (this.#registry.getSingleMetric(name) !== undefined)
      throw new TypeError(`metric ${name} is declared with another type already`)
    const made = make([this.#registry])
    known.set(name, made)
    return made
  }
}

/** One combination of labels, and what the registry has not been shown yet. */
interface Entry {
  readonly labels: Record<string, string>
  value: number
}

/**
 * Entries of a metric that the registry takes over when somebody requests its page: for each value that it is given it sorts and joins labels again, and some
 * values change a thousand times between two looks.
 */
function shownWhenAsked<M>(show: (metric: M, entry: Entry) => void): {
  readonly add: (labels: Record<string, string>) => Entry
  readonly collect: (this: M) => void
} {
  const entries: Entry[] = []
  return {
    add: (labels) => {
      const entry = { labels, value: 0 }
      entries.push(entry)
      return entry
    },
    collect() {
      for (const entry of entries) show(this, entry)
    },
  }
}

/**
 * Keeps series of one metric below {@link MAX_SERIES_PER_METRIC}, and values of its labels within {@link MAX_LABEL_LENGTH}. The registry
 * checks and sorts labels each time it is given some; here each combination is shown to it once.
 *
 * @param each - series that one combination is
 */
function boundedSeries<T>(
  names: readonly string[],
  make: (labels: Record<string, string>) => T,
  each = 1,
): (values: Readonly<Record<string, string>>) => T {
  const known = new Map<string, T>()
  // Labels that are given again and again need not be put together each time. Only of what is frozen it is certain that it says the same still.
  const frozen = new WeakMap<Readonly<Record<string, string>>, T>()
  const makeFor = (valueOf: (name: string) => string): T =>
    make(Object.fromEntries(names.map((name) => [name, valueOf(name)])))
  let others: T | undefined
  const [only = '', ...more] = names
  const find = (values: Readonly<Record<string, string>>): T => {
    const key = more.length === 0 ? boundedValue(values[only] ?? '') : keyOf(names, values)
    const found = known.get(key)
    if (found !== undefined) return found
    if (known.size * each >= MAX_SERIES_PER_METRIC) return (others ??= makeFor(() => OTHER))
    const series = makeFor((name) => boundedValue(values[name] ?? ''))
    known.set(key, series)
    return series
  }
  return (values) => {
    const same = frozen.get(values)
    if (same !== undefined) return same
    const series = find(values)
    if (Object.isFrozen(values)) frozen.set(values, series)
    return series
  }
}

function keyOf(names: readonly string[], values: Readonly<Record<string, string>>): string {
  let key = ''
  for (const name of names) {
    const value = boundedValue(values[name] ?? '')
    // With its length before it a value cannot be mistaken for parts of two.
    key += `${value.length}:${value}`
  }
  return key
}

function boundedValue(value: string): string {
  return value.length > MAX_LABEL_LENGTH ? OTHER : value
}
