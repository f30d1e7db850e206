import type { StringMatch } from '@osm-ts/driver-api'
import { RE2JS } from 're2js'

/** Compiles an RE2 expression, or says why it is none. */
export function compilePattern(pattern: string): { readonly regex: RE2JS } | { readonly fault: string } {
  try {
    return { regex: RE2JS.compile(pattern) }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) }
  }
}

/** Text in which no character means anything but itself to RE2. */
const literal = /^[A-Za-z0-9/_~%!@&=,;:'" -]+$/

/** An expression as a matcher for the whole value; `undefined` when every value matches. Expressions without special characters are compared as text. */
export function patternMatch(pattern: string): StringMatch | undefined {
  if (pattern === '' || pattern === '.*' || pattern === '^.*$') return undefined
  return literal.test(pattern) ? { type: 'exact', value: pattern } : { type: 'regex', value: pattern }
}
