import { type Problem, problemChanges } from '@osm-ts/core'

/** Problems that are reported at a time; the others are counted. */
const MAX_TOLD = 50
/** Problems that are remembered after they were mended, so that their return is reported as such. */
const MAX_REMEMBERED = 1_000

/** Tells problems in lines, where there is no screen to draw on: each in full when it appears, and that one was mended. */
export class ProblemLines {
  /** How often each problem has appeared; those that stand now, and some that stood. */
  readonly #seen = new Map<string, number>()
  #current: ReadonlySet<string> = new Set()

  /** What is new since the last call. */
  next(problems: readonly Problem[]): readonly string[] {
    const { current, came, went } = problemChanges(problems, this.#current)
    this.#current = current
    return [
      ...this.#told(came.map(([text]) => text)),
      ...bounded(
        went.map((text) => `mended: ${text}`),
        'were mended',
      ),
    ]
  }

  #told(came: readonly string[]): readonly string[] {
    const lines = came.map((text) => {
      const times = (this.#seen.get(text) ?? 0) + 1
      this.#seen.delete(text)
      this.#seen.set(text, times)
      return times === 1 ? text : `${text} (for the ${ordinal(times)} time)`
    })
    for (const text of this.#seen.keys()) {
      if (this.#seen.size <= MAX_REMEMBERED) break
      if (!this.#current.has(text)) this.#seen.delete(text)
    }
    return bounded(lines, 'appeared; osm standalone validate lists all')
  }
}

function bounded(lines: readonly string[], what: string): readonly string[] {
  const more = lines.length - MAX_TOLD
  return more <= 0 ? lines : [...lines.slice(0, MAX_TOLD), `${more} more problems ${what}`]
}

function ordinal(n: number): string {
  const rule = new Intl.PluralRules('en', { type: 'ordinal' }).select(n)
  return `${n}${{ zero: 'th', one: 'st', two: 'nd', few: 'rd', many: 'th', other: 'th' }[rule]}`
}
