/** Headers that applications take for the identity of a caller. No header is proof of one: sidecars take them away before rules look at a request. */
const IDENTITY_HEADERS = ['serviceidentity', 'x-forwarded-client-cert']

/** True for the name of such a header, in any case and with underscores for hyphens: many servers read both as one. */
function isIdentityHeader(name: string): boolean {
  return IDENTITY_HEADERS.includes(folded(name))
}

/** True for headers that sidecars take away before rules look: those for identities, and orders to proxies, by which a caller would set its own timeouts. */
export function isWithheld(name: string): boolean {
  return isIdentityHeader(name) || folded(name).startsWith('x-envoy-')
}

/**
 * Headers of a request that no workload with a sidecar gets: those that are withheld, and spellings that differ in hyphens and underscores alone from a header
 * that a rule names, unless a rule names them too.
 *
 * @param sent - names as they were sent
 * @param named - names that rules of the port name
 * @returns lower case
 */
export function removedHeaders(sent: readonly string[], named: readonly string[]): readonly string[] {
  const known = new Set(named.map((name) => name.toLowerCase()))
  const spellings = new Set([...known].map(folded))
  return sent
    .map((name) => name.toLowerCase())
    .filter((name) => isWithheld(name) || (spellings.has(folded(name)) && !known.has(name)))
}

function folded(name: string): string {
  return name.toLowerCase().replaceAll('_', '-')
}
