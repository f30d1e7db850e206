/** A distribution in few numbers. Milliseconds unless said otherwise. */
export interface Summary {
  readonly count: number
  readonly min: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** @throws RangeError for an empty list */
export function summarize(values: readonly number[]): Summary {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number): number => {
    const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]
    if (value === undefined) throw new RangeError('no values to summarize')
    return round(value)
  }
  return { count: sorted.length, min: at(0), p50: at(0.5), p99: at(0.99), max: at(1) }
}

/** Three digits behind the point: finer than any clock here. */
export function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
