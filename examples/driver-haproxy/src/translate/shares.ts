import type { WeightedUpstream } from '@osm-ts/driver-api/policy'

import { type ConfigFile, fileNames } from './document.js'

/** Shares are drawn from this many numbers: finer than anyone counts, and within HAProxy's 31 bits. */
const DRAWN = 1_000_000

/** The sample that a number is drawn by, and the variable that keeps it. */
export const draw = `set-var(txn.drawn) rand(${DRAWN})`

/** A section that gets a share, relative to the sum of all weights. */
export interface WeightedSection {
  readonly section: string
  readonly weight: number
}

/** The sections of targets, in order. */
export function sectionsOf(
  targets: readonly WeightedUpstream[],
  sectionOf: (upstream: string) => string,
): readonly WeightedSection[] {
  return targets.map(({ upstream, weight }) => ({ section: sectionOf(upstream), weight }))
}

/** A share of requests or connections, and the section that gets it. */
export interface Share {
  /** Holds for what this share and those before it get. */
  readonly condition: string
  readonly section: string
}

/** The shares of a proxy. They are in a map, so that weights change without a reload. */
export class Shares {
  readonly #bounds: string[] = []

  /**
   * Sections in order, each with its share. Those that weigh nothing have none, but may get one.
   *
   * @param name - of what is shared out; letters, digits, `.`, `-`, `:` and `_`
   */
  of(name: string, targets: readonly WeightedSection[]): readonly Share[] {
    const sum = targets.reduce((total, { weight }) => total + weight, 0)
    let before = 0
    return targets.map(({ section, weight }, index) => {
      before += weight
      const key = `${name}:${index}`
      this.#bounds.push(`${key} ${sum === 0 ? 0 : Math.round((before / sum) * DRAWN)}`)
      const condition = `{ str(${key}),map_str_int(${fileNames.shares},0),sub(txn.drawn) gt 0 }`
      return { condition, section }
    })
  }

  get files(): readonly ConfigFile[] {
    if (this.#bounds.length === 0) return []
    return [{ name: fileNames.shares, content: this.#bounds.map((line) => `${line}\n`).join(''), live: true }]
  }
}
