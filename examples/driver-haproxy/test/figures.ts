import { writeFile } from 'node:fs/promises'

/** Times of changes, in whole milliseconds. */
export interface Figures {
  readonly changes: number
  readonly sent: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Writes figures of a run as JSON to the file that OSM_HAPROXY_FIGURES names; nothing without it. */
export async function keepFigures(times: readonly number[], sent: number): Promise<void> {
  const file = process.env['OSM_HAPROXY_FIGURES'] ?? ''
  if (file === '') return
  const sorted = [...times].sort((a, b) => a - b)
  // The smallest time that so large a share of the changes did not exceed.
  const at = (share: number) => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN)
  const figures: Figures = { changes: times.length, sent, p50: at(0.5), p99: at(0.99), max: at(1) }
  await writeFile(file, `${JSON.stringify(figures)}\n`)
}
