import type { RouteMatch } from './parts/matching.js'

/**
 * Applications behind CGI or WSGI read `x_role` and `x-role` as one header. A header that a rule names must not be accepted in another spelling, because rules do not check it.
 */

/** Headers that applications treat as the identity of a caller. A header is not proof of identity, so they are removed from requests of clients, in any spelling. */
export const IDENTITY_HEADERS: readonly string[] = ['serviceidentity', 'x-forwarded-client-cert']

/** True for such a header in any spelling. A condition on such a header never matches, because it is removed before rules are evaluated. */
export function isIdentityHeader(name: string): boolean {
  return IDENTITY_HEADERS.includes(name.toLowerCase().replaceAll('_', '-'))
}

/**
 * Headers that control a proxy: timeouts, retries, hedging, another path in its logs. OSM's sidecars accepted them from any client. Here only policy
 * controls these settings, so the headers are removed in any spelling, for every class.
 */
const ORDER_HEADERS = 'x[-_]envoy[-_].*'

/** True for such a header. A condition on it never matches, as with {@link isIdentityHeader}. */
export function isOrderHeader(name: string): boolean {
  return name.toLowerCase().replaceAll('_', '-').startsWith('x-envoy-')
}

/** Expressions for all headers that a served port removes before rules are evaluated; for the whole name in lower case. */
export function withheldHeaders(): readonly string[] {
  return [ORDER_HEADERS, ...allSpellings(IDENTITY_HEADERS)]
}

/** Names of headers that the matches have conditions on; sorted, without pseudo-headers. */
export function namedHeaders(matches: Iterable<RouteMatch>): readonly string[] {
  const names = [...matches].flatMap(({ headers = [] }) => headers.map(({ name }) => name))
  return [...new Set(names.filter((name) => !name.startsWith(':')))].sort()
}

/**
 * Expressions for header names that differ from the given ones in `-` and `_` alone; none of them matches a given name. Sorted; in the common syntax of
 * RE2 and PCRE, for the whole name in lower case.
 *
 * @param names - lower case
 */
export function otherSpellings(names: readonly string[]): readonly string[] {
  const groups = new Map<string, string[]>()
  for (const name of names) {
    const folded = name.replaceAll('_', '-')
    groups.set(folded, [...(groups.get(folded) ?? []), name])
  }
  const found = [...groups.values()].map((group) => differing(group[0]?.split(SEPARATOR) ?? [], group.map(separators)))
  return found.filter((expression) => expression !== undefined).sort()
}

/** Expressions for every spelling of the given names, including the names themselves. Sorted. */
export function allSpellings(names: readonly string[]): readonly string[] {
  return names.map((name) => name.split(SEPARATOR).map(escaped).join('[-_]')).sort()
}

const SEPARATOR = /[-_]/

function separators(name: string): readonly string[] {
  return name.match(/[-_]/g) ?? []
}

/** An expression for the words with any separators but those of the list; undefined if none are left. */
function differing(words: readonly string[], excluded: readonly (readonly string[])[]): string | undefined {
  const [word = '', ...rest] = words
  if (excluded.length === 0) return words.map(escaped).join('[-_]')
  if (rest.length === 0) return undefined
  const branches = ['-', '_'].flatMap((separator) => {
    const further = excluded.filter(([first]) => first === separator).map(([, ...others]) => others)
    const tail = differing(rest, further)
    return tail === undefined ? [] : [`${separator}${tail}`]
  })
  return branches.length === 0 ? undefined : `${escaped(word)}(?:${branches.join('|')})`
}

function escaped(word: string): string {
  return word.replaceAll(/[$^*+.|]/g, String.raw`\$&`)
}
