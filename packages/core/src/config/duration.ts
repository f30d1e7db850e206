/** Nanoseconds by unit, as Go's time package has them. Both ways to write the micro sign are read. */
const unitNanoseconds: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
}

/** Go keeps durations in 63 bits of nanoseconds. */
const maxNanoseconds = 2 ** 63 - 1024

/**
 * Reads a duration as Go's `time.ParseDuration` does: `1h30m`, `1.5s`, `-2m`, `0`.
 *
 * @returns whole milliseconds, rounded away from zero so that a short duration does not become none; undefined if the text is no duration
 */
export function parseDuration(text: string): number | undefined {
  const [, sign, rest] = /^([+-]?)(.*)$/s.exec(text) ?? []
  if (rest === undefined || rest === '') return undefined
  if (rest === '0') return 0
  const part = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y
  let nanoseconds = 0
  while (part.lastIndex < rest.length) {
    const match = part.exec(rest)
    const [, number, unit] = match ?? []
    const scale = unit === undefined ? undefined : unitNanoseconds[unit]
    if (number === undefined || scale === undefined) return undefined
    nanoseconds += Number(number) * scale
  }
  if (nanoseconds > maxNanoseconds) return undefined
  // Sums of decimal fractions may miss a whole number by some billionths.
  const milliseconds = Math.ceil(Math.round(nanoseconds) / 1e6)
  return sign === '-' && milliseconds > 0 ? -milliseconds : milliseconds
}

/** A duration in the notation of Go, for messages: `1h30m0s`, `250ms`. */
export function formatDuration(milliseconds: number): string {
  const sign = milliseconds < 0 ? '-' : ''
  const total = Math.abs(milliseconds)
  if (total === 0) return '0s'
  if (total < 1000) return `${sign}${total}ms`
  const hours = Math.floor(total / 3_600_000)
  const minutes = Math.floor((total % 3_600_000) / 60_000)
  const seconds = (total % 60_000) / 1000
  const parts = [hours > 0 ? `${hours}h` : '', hours > 0 || minutes > 0 ? `${minutes}m` : '', `${seconds}s`]
  return `${sign}${parts.join('')}`
}
