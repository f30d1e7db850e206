import type { Principal } from '../identity.js'
import { canonicalJson } from './canonical.js'
import type {
  ExternalAuthorization,
  HttpAllowRule,
  InboundPart,
  IngressPart,
  PartHash,
  PrincipalsPart,
  RouteMatch,
} from './parts.js'

/**
 * Gives the principals behind a hash. Undefined where they are not known any more: then they count as many before the change and as none after it.
 */
export type PrincipalsLookup = (hash: PartHash) => PrincipalsPart | undefined

/**
 * True unless everything that a served port let in before is provably still let in.
 *
 * The proof goes rule by rule: the callers of a rule must be among the callers of those later rules whose match asks for nothing that the earlier match
 * does not ask for. A new or changed external authorization may deny, so it counts as removal; limits bound how much, not who, and do not.
 *
 * @param before - the part in force
 * @param after - the part that replaces it; undefined if none does
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
  // Bytes that a TCP rule let in are no requests that an HTTP rule could let in.
  if (before.rules.kind === 'tcp' && after.rules.kind === 'http') return true
  const later = allowRules(after)
  return allowRules(before).some((rule) => !isStillAllowed(rule, later, principals))
}

/**
 * True unless every caller from outside the mesh that an ingress part let in before is provably still let in. Another TLS mode counts as removal.
 *
 * @param before - the part in force
 * @param after - the part that replaces it; undefined if none does
 */
export function removesIngressAccess(
  before: IngressPart,
  after: IngressPart | undefined,
  principals: PrincipalsLookup,
): boolean {
  if (after === undefined) return true
  if (before.id !== after.id || before.targetPort !== after.targetPort || before.tls !== after.tls) return true
  if (!isSubset(before.sources, after.sources)) return true
  // No name stands for any name.
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
 * The form of a part that lets nobody in: it is selected as before, and refuses. It asks no optional feature of a driver.
 */
export function denyForm(part: InboundPart): InboundPart {
  const { kind, id, service, port, targetPort, protocol, serverNames } = part
  return { kind, id, service, port, targetPort, protocol, serverNames, rules: { kind: 'deny' } }
}

/** The rules of a part; a TCP part has one that asks for nothing, a deny form has none. */
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

/** `<service account>.<namespace>.<trust domain>`: two labels at least stand before the trust domain. */
function isOf(principal: Principal, trustDomain: string): boolean {
  const suffix = `.${trustDomain}`
  return principal.endsWith(suffix) && principal.slice(0, -suffix.length).includes('.')
}

/** True if every request that `inner` matches is matched by `outer`, because `outer` asks for nothing else or for less. */
function covers(outer: RouteMatch, inner: RouteMatch): boolean {
  if (outer.path !== undefined && !isEqual(outer.path, inner.path)) return false
  if (outer.methods !== undefined && (inner.methods === undefined || !isSubset(inner.methods, outer.methods)))
    return false
  const given = (inner.headers ?? []).map(canonicalJson)
  return (outer.headers ?? []).every((header) => given.includes(canonicalJson(header)))
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
