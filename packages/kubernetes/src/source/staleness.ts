import type { Problem } from '@osm-ts/core'
import type { SourceErrorCode } from '../error-codes.js'
import type { Freshness } from './namespace-scope.js'

/** Looks in a row at which a copy must be stale to count as such: watches break now and then, and go on at once. */
const LOOKS = 3
/** Copies that are named one by one; more of them are the API server as a whole. */
const NAMED = 5

interface Doubt {
  looks: number
  readonly since: number
  readonly reason: string
}

/** Judges which copies of what the API server holds are out of date. */
export class Staleness {
  readonly #doubts = new Map<string, Doubt>()

  /** Looks at all copies, by name. Returns the names of those that have become stale, or are no longer. */
  look(copies: ReadonlyMap<string, Freshness>): ReadonlySet<string> {
    const turned = new Set<string>()
    for (const [name, freshness] of copies) {
      const doubt = this.#doubts.get(name)
      if (freshness.state !== 'stale') {
        if (this.#doubts.delete(name) && doubt !== undefined && doubt.looks >= LOOKS) turned.add(name)
        continue
      }
      const { since, error } = freshness
      // The first reason is kept: each try may fail in another way, and none of them is news.
      const next = doubt ?? { looks: 0, since, reason: error.message }
      next.looks += 1
      this.#doubts.set(name, next)
      if (next.looks === LOOKS) turned.add(name)
    }
    for (const name of this.#doubts.keys()) if (!copies.has(name)) this.#doubts.delete(name)
    return turned
  }

  /** Why a copy is out of date; undefined if it is not. */
  of(name: string): string | undefined {
    const doubt = this.#doubts.get(name)
    return doubt === undefined || doubt.looks < LOOKS ? undefined : doubt.reason
  }

  /** What to tell about it. */
  problems(): readonly Problem[] {
    const stale = [...this.#doubts].filter(([, { looks }]) => looks >= LOOKS)
    if (stale.length > NAMED) {
      const since = Math.min(...stale.map(([, doubt]) => doubt.since))
      return [problem(`${stale.length} of the lists that are followed`, since, stale[0]?.[1].reason ?? '')]
    }
    return stale.map(([name, { since, reason }]) => problem(name, since, reason))
  }
}

function problem(what: string, since: number, reason: string): Problem {
  const code: SourceErrorCode = 'OSM_SOURCE_STALE'
  const message = `${what} cannot be followed since ${new Date(since).toISOString()}: ${reason}; what was known then stays in force`
  return { code, severity: 'warning', message }
}
