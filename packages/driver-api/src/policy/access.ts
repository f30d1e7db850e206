import type { Principal } from '../identity.js'
import { canonicalJson } from './canonical.js'
import type {
  EgressPart,
  ExternalAuthorization,
  HttpAllowRule,
  InboundPart,
  IngressPart,
  OutboundMatch,
  PartHash,
  PrincipalsPart,
} from './parts.js'

/**
 * Returns the principals of a hash. Undefined if they are no longer known: then all callers are assumed before the change and none after it.
 */
export type PrincipalsLookup = (hash: PartHash) => PrincipalsPart | undefined

/**
 * True unless every request that a served port allowed before is provably still allowed.
 *
 * The proof compares rules: the callers of an earlier rule must be among the callers of the later rules whose match has no additional conditions.
 * A new or changed external authorization may deny requests, so it counts as removal. Rate limits do not count as removal.
 *
 * @param before - the part in force
 * @param after - the part that replaces it; undefined if there is none
 */
export function removesAccess(
  before: InboundPart,
  after: InboundPart | undefined,
  principals: PrincipalsLookup,
): boolean {
  if (before.rules.kind === 'deny') return false
  if (after === undefined || after.rules.kind === 'deny') return true
  if (before.id !== after.id || before.targetPort !== after.targetPort) return true
  if (!isSubset(before.serverNames, after.serverNames)) return true
  if (!keepsAuthorization(before.externalAuthorization, after.externalAuthorization)) return true
  // Bytes that a TCP rule allowed are not requests that an HTTP rule could allow.
  if (before.rules.kind === 'tcp' && after.rules.kind === 'http') return true
  const later = allowRules(after)
  return allowRules(before).some((rule) => !isStillAllowed(rule, later, principals))
}

/**
 * True unless every outside caller that an ingress part allowed before is provably still allowed. A changed TLS mode counts as removal.
 *
 * @param before - the part in force
 * @param after - the part that replaces it; undefined if there is none
 */
export function removesIngressAccess(
  before: IngressPart,
  after: IngressPart | undefined,
  principals: PrincipalsLookup,
): boolean {
  if (after === undefined) return true
  if (before.id !== after.id || before.targetPort !== after.targetPort || before.tls !== after.tls) return true
  if (!isSubset(before.sources, after.sources)) return true
  // An empty list matches any name.
  const sameNames = before.serverNames.length > 0 && isSubset(before.serverNames, after.serverNames)
  if (after.serverNames.length > 0 && !sameNames) return true
  if (!keepsAuthorization(before.externalAuthorization, after.externalAuthorization)) return true
  if (before.allow !== undefined && after.allow !== undefined && before.allow !== after.allow) {
    const callers = principals(before.allow)
    if (callers === undefined || !areAmong(callers, [after.allow], principals)) return true
  }
  return before.matches.some((match) => !after.matches.some((later) => covers(later, match)))
}

/**
 * True unless everything that an egress part let out before is provably still let out.
 *
 * @param before - the part in force
 * @param after - the part that replaces it; undefined if there is none
 */
export function removesEgressAccess(before: EgressPart, after: EgressPart | undefined): boolean {
  if (after === undefined) return true
  if (before.id !== after.id || before.protocol !== after.protocol || before.port !== after.port) return true
  if (!isSubset(before.hosts, after.hosts) || !isSubset(before.serverNames, after.serverNames)) return true
  // An empty list is every destination.
  const keepsRanges = before.cidrs.length > 0 && isSubset(before.cidrs, after.cidrs)
  if (after.cidrs.length > 0 && !keepsRanges) return true
  return before.routes.some(({ match }) => !after.routes.some((later) => covers(later.match, match)))
}

/**
 * The deny form of a part: it has the same selector and refuses every caller. It needs no optional feature of a driver.
 */
export function denyForm(part: InboundPart): InboundPart {
  const { kind, id, service, port, targetPort, protocol, serverNames } = part
  return { kind, id, service, port, targetPort, protocol, serverNames, rules: { kind: 'deny' } }
}

/** The rules of a part; a TCP part has one without conditions, a deny form has none. */
function allowRules({ rules }: InboundPart): readonly HttpAllowRule[] {
  if (rules.kind === 'http') return rules.allow
  return rules.kind === 'tcp' ? [{ match: {}, allow: rules.allow }] : []
}

function isStillAllowed(rule: HttpAllowRule, later: readonly HttpAllowRule[], principals: PrincipalsLookup): boolean {
  const candidates = later.filter(({ match }) => covers(match, rule.match)).map(({ allow }) => allow)
  if (candidates.includes(rule.allow)) return true
  const callers = principals(rule.allow)
  return callers !== undefined && areAmong(callers, candidates, principals)
}

/** True if each of the callers is in one of the other parts; they need not all be in the same. */
function areAmong(callers: PrincipalsPart, others: readonly PartHash[], principals: PrincipalsLookup): boolean {
  const known = others.map(principals).filter((part) => part !== undefined)
  const domains = new Set<string>()
  const names = new Set<Principal>()
  for (const part of known) {
    if (part.match === 'trustDomain') domains.add(part.trustDomain)
    else part.principals.forEach((name) => names.add(name))
  }
  if (callers.match === 'trustDomain') return domains.has(callers.trustDomain)
  return callers.principals.every((name) => names.has(name) || [...domains].some((domain) => isOf(name, domain)))
}

/** `<service account>.<namespace>.<trust domain>`: at least two labels precede the trust domain. */
function isOf(principal: Principal, trustDomain: string): boolean {
  const suffix = `.${trustDomain}`
  return principal.endsWith(suffix) && principal.slice(0, -suffix.length).includes('.')
}

/** True if every request that `inner` matches is matched by `outer`, because `outer` has the same or fewer conditions. */
function covers(outer: OutboundMatch, inner: OutboundMatch): boolean {
  if (outer.path !== undefined && !isEqual(outer.path, inner.path)) return false
  if (outer.methods !== undefined && (inner.methods === undefined || !isSubset(inner.methods, outer.methods)))
    return false
  return hasConditions(inner.headers, outer.headers) && hasConditions(inner.queryParameters, outer.queryParameters)
}

function hasConditions(given: readonly unknown[] = [], wanted: readonly unknown[] = []): boolean {
  const texts = given.map(canonicalJson)
  return wanted.every((condition) => texts.includes(canonicalJson(condition)))
}

function keepsAuthorization(
  before: ExternalAuthorization | undefined,
  after: ExternalAuthorization | undefined,
): boolean {
  return after === undefined || isEqual(before, after)
}

function isEqual(a: unknown, b: unknown): boolean {
  return a !== undefined && b !== undefined && canonicalJson(a) === canonicalJson(b)
}

function isSubset<T>(some: readonly T[], all: readonly T[]): boolean {
  const held = new Set(all)
  return some.every((item) => held.has(item))
}
