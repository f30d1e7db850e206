import type { StringMatcherSchema } from '@osm-ts/envoy-api/envoy/type/matcher/v3/string_pb.js'

import type { Init } from '../encoding/encode.js'

/**
 * What a connection may become once a server has agreed, by the name in `Upgrade`. Envoy takes a list and no pattern.
 *
 * `SPDY/3.1` and `tcp` are those of Kubernetes and of Docker for terminals and forwarded ports.
 */
export const upgradeTypes = ['websocket', 'SPDY/3.1', 'tcp'] as const

/**
 * All other upgrades, such as `TLS/1.2` and `h2c`. The header is dropped and the request is served in HTTP/1.1: a server may ignore an
 * upgrade (RFC 9110, section 7.8), while Envoy would answer 403.
 */
export function otherUpgrades(): Init<typeof StringMatcherSchema> {
  return { matchPattern: { case: 'safeRegex', value: { regex: allBut(upgradeTypes) } } }
}

/** An expression of RE2 for every text that is none of the words, whose case does not count. RE2 has no negation. */
export function allBut(words: readonly string[]): string {
  const lowered = words.map((word) => word.toLowerCase())
  const nexts = [...new Set(lowered.filter((word) => word !== '').map((word) => word.charAt(0)))].sort()
  const either = (letter: string): string => [...new Set([letter, letter.toUpperCase()])].map(escaped).join('')
  const others = nexts.length === 0 ? '.+' : `[^${nexts.map(either).join('')}].*`
  const rests = nexts.map((next) => {
    const rest = lowered.filter((word) => word.startsWith(next)).map((word) => word.slice(next.length))
    return `[${either(next)}]${allBut(rest)}`
  })
  return `(?:${[others, ...rests].join('|')})${lowered.includes('') ? '' : '?'}`
}

/** A character inside brackets. */
function escaped(letter: string): string {
  return /[a-z\d/]/i.test(letter) ? letter : `\\${letter}`
}
