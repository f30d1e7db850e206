/** Nanoseconds by unit, as Go's time package has them. Both ways to write the micro sign are read. */
const unitNanoseconds: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}

/** Go keeps durations in 63 bits of nanoseconds. */
const maxNanoseconds = 2n ** 63n - 1n
/** The longest duration in whole milliseconds: rounding leads to none that Go could not read. */
const maxMilliseconds = Number(maxNanoseconds / 1_000_000n)
/** No duration needs more characters; arithmetic of any length is not for strangers. */
const maxLength = 64

/**
 * Reads a duration as Go's `time.ParseDuration` does: `1h30m`, `1.5s`, `-2m`, `0`.
 *
 * @returns whole milliseconds, rounded away from zero so that a short duration does not become none; undefined if the
 *   text is not a duration
 */
export function parseDuration(text: string): number | undefined {
  if (text.length > maxLength) return undefined
  const negative = text.startsWith('-')
  const rest = negative || text.startsWith('+') ? text.slice(1) : text
  if (rest === '0') return 0
  const nanoseconds = sumOfParts(rest)
  if (nanoseconds === undefined || nanoseconds > maxNanoseconds) return undefined
  const milliseconds = Math.min(maxMilliseconds, Number((nanoseconds + 999_999n) / 1_000_000n))
  return negative && milliseconds > 0 ? -milliseconds : milliseconds
}

function sumOfParts(text: string): bigint | undefined {
  // The micro sign and the Greek letter. As escapes: a single character beyond Latin-1 makes the engine keep the whole bundle at two bytes a character.
  const part = /(\d*)(?:\.(\d*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/y
  let nanoseconds = 0n
  do {
    const [, whole = '', fraction = '', unit = ''] = part.exec(text) ?? []
    const scale = unitNanoseconds[unit]
    if (scale === undefined || (whole === '' && fraction === '')) return undefined
    nanoseconds += BigInt(whole || '0') * scale + (BigInt(fraction || '0') * scale) / 10n ** BigInt(fraction.length)
  } while (part.lastIndex < text.length)
  return nanoseconds
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
