import type { ObjectOrigin, ObjectRef, Problem } from '../problem.js'
import type { ConfigErrorCode } from './error-codes.js'
import { formatDuration, parseDuration } from './duration.js'

/** Where settings come from. */
export interface SettingsOrigin {
  /** The MeshConfig; undefined where none exists. */
  readonly object: ObjectRef | undefined
  /** Where a field of it is written down. */
  locate(field: string): ObjectOrigin | undefined
}

/** Collects what is wrong with settings, and reads those that can be wrong. */
export class Findings {
  readonly #origin: SettingsOrigin
  readonly #problems: Problem[] = []

  constructor(origin: SettingsOrigin) {
    this.#origin = origin
  }

  get problems(): readonly Problem[] {
    return this.#problems
  }

  report(code: ConfigErrorCode, field: string, message: string, severity: Problem['severity'] = 'error'): void {
    const { object } = this.#origin
    const origin = this.#origin.locate(field)
    this.#problems.push({
      code,
      severity,
      message,
      ...(object === undefined ? {} : { object }),
      ...(origin === undefined ? {} : { origin }),
      field,
    })
  }

  /** A duration in milliseconds, or the fallback where nothing or nothing readable is written. */
  duration(
    text: string | undefined,
    field: string,
    fallbackMs: number,
    range: { readonly minMs?: number } = {},
  ): number {
    if (text === undefined || text === '') return fallbackMs
    const milliseconds = parseDuration(text)
    const minMs = range.minMs ?? 0
    if (milliseconds === undefined) {
      const instead = formatDuration(fallbackMs)
      this.report(
        'OSM_CONFIG_DURATION',
        field,
        `${JSON.stringify(text)} is not a duration such as 90s or 1h30m; ${instead} applies`,
      )
      return fallbackMs
    }
    if (milliseconds < minMs) {
      const instead = formatDuration(Math.max(minMs, fallbackMs))
      this.report('OSM_CONFIG_DURATION', field, `${text} is less than ${formatDuration(minMs)}; ${instead} applies`)
      return Math.max(minMs, fallbackMs)
    }
    return milliseconds
  }

  /** A share from 0 to 1; everything where nothing or nothing readable is written. */
  fraction(text: string | undefined, field: string): number {
    if (text === undefined || text === '') return 1
    const value = /^\s*\d*\.?\d+(e-?\d+)?\s*$/i.test(text) ? Number(text) : Number.NaN
    if (value >= 0 && value <= 1) return value
    this.report('OSM_CONFIG_FRACTION', field, `must be a number from 0 to 1, not ${JSON.stringify(text)}; 1 applies`)
    return 1
  }
}
