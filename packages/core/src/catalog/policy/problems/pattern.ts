import type { PathMatch } from '@osm-ts/driver-api/policy'

import { patternFacts } from '../../../spec/pattern.js'

/** Says why an expression can't be used: it is not RE2, too long, or stands for too much. Undefined if it can. */
export function patternFault(pattern: string): string | undefined {
  const facts = patternFacts(pattern)
  return facts.valid ? undefined : facts.reason
}

/** Text in which no character means anything but itself to RE2. */
const literal = /^[A-Za-z0-9/_~%!@&=,;:'" -]*$/

/** An expression as a matcher for the whole value; `undefined` when every value matches. Expressions without special characters are compared as text. */
export function patternMatch(pattern: string): PathMatch | undefined {
  if (pattern === '.*' || pattern === '^.*$') return undefined
  return literal.test(pattern) ? { type: 'exact', value: pattern } : { type: 'regex', value: pattern }
}
