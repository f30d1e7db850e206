import type { Metric, Registry } from 'prom-client'

/** One combination of labels of a {@link CountedHistogram}. */
export interface HistogramSeries {
  observe(value: number): void
}

/**
 * A histogram of the registry that counts in its own series. The library's looks up the series by joined labels for each value, and some values come a
 * thousand times between two looks at the page.
 */
export class CountedHistogram {
  readonly #name: string
  readonly #buckets: readonly number[]
  readonly #series: Counts[] = []

  /** @param buckets - upper bounds, in ascending order */
  constructor(name: string, help: string, buckets: readonly number[], registry: Registry) {
    this.#name = name
    this.#buckets = buckets
    const metric = {
      name,
      get: () => Promise.resolve({ name, help, type: 'histogram', aggregator: 'sum', values: this.#values() }),
    }
    // The registry reads nothing else of a metric.
    registry.registerMetric(metric as unknown as Metric)
  }

  series(labels: Readonly<Record<string, string>>): HistogramSeries {
    const counts = new Counts(labels, this.#buckets)
    this.#series.push(counts)
    return counts
  }

  #values(): readonly Sample[] {
    return this.#series.flatMap((counts) => counts.samples(this.#name))
  }
}

interface Sample {
  readonly metricName: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

class Counts implements HistogramSeries {
  readonly #labels: Readonly<Record<string, string>>
  readonly #buckets: readonly number[]
  /** Values up to each bound and above the bound before it. */
  readonly #counts: number[]
  #count = 0
  #sum = 0

  constructor(labels: Readonly<Record<string, string>>, buckets: readonly number[]) {
    this.#labels = labels
    this.#buckets = buckets
    this.#counts = buckets.map(() => 0)
  }

  observe(value: number): void {
    if (!Number.isFinite(value)) throw new TypeError(`a histogram takes finite values, not ${String(value)}`)
    this.#count += 1
    this.#sum += value
    const at = this.#buckets.findIndex((bound) => value <= bound)
    if (at >= 0) this.#counts[at] = (this.#counts[at] ?? 0) + 1
  }

  samples(name: string): readonly Sample[] {
    const labels = this.#labels
    let upTo = 0
    const buckets = this.#buckets.map((le, at) => {
      upTo += this.#counts[at] ?? 0
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: upTo }
    })
    return [
      ...buckets,
      { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: this.#count },
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: this.#count },
    ]
  }
}
