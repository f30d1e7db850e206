import { canonicalJson } from './canonical.js'
import type { HttpAllowRule } from './parts.js'

/** Less than, equal to or greater than 0, as `Array.prototype.sort` wants it. */
export type Compare<T> = (a: T, b: T) => number

/** The order of sorted lists of a policy: by UTF-16 code unit, independent of the locale, so that all replicas produce the same order. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** The order of lists that are sorted by canonical JSON, such as the matches of an ingress part. */
export function compareCanonical(a: unknown, b: unknown): number {
  return compareText(canonicalJson(a), canonicalJson(b))
}

/** Orders by a first key, and by a later one where the earlier ones are equal. */
export function compareBy<T>(...compares: readonly Compare<T>[]): Compare<T> {
  return (a, b) => {
    for (const compare of compares) {
      const order = compare(a, b)
      if (order !== 0) return order
    }
    return 0
  }
}

/** Index of the first item that does not follow its predecessor (a duplicate does not follow), or -1. */
export function firstUnsorted<T>(items: readonly T[], compare: Compare<T>): number {
  // The first item has no predecessor; every later one has.
  return items.findIndex((item, index) => index > 0 && compare(items[index - 1] as T, item) >= 0)
}

/** The order of allow rules: by match, so that a rule keeps its place while its callers change, then by callers. */
export function compareAllowRules(a: HttpAllowRule, b: HttpAllowRule): number {
  return compareCanonical(a.match, b.match) || compareText(a.allow, b.allow)
}
