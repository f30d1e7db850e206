import type { RouteMatch, RouteRule, ValueMatch } from './http-route-spec.js'
import { isWithheld } from './identity-headers.js'
import type { Known, Objects, ServicePort } from './objects.js'
import { covers, isExpression, isHeaderName } from './route-match.js'
import { readsRequests } from './services.js'

/** A request on its way through the sidecar of the caller. */
export interface SentRequest {
  readonly method: string
  /** As it was sent, but for runs of slashes, which are one. */
  readonly path: string
  /** With its question mark; empty without one. */
  readonly query: string
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
}

/** A rule, and the match by which a request comes to it. */
interface ChosenRule {
  readonly route: Known<'HTTPRoute'>
  readonly rule: RouteRule
  readonly match: RouteMatch
}

/**
 * HTTPRoutes of a port for callers of a namespace: their own, if they have some, else those of the namespace of the service. None where the port does not
 * speak HTTP.
 */
export function routesAt(
  objects: Objects,
  callers: string,
  service: Known<'Service'>,
  port: ServicePort,
): readonly Known<'HTTPRoute'>[] {
  if (!readsRequests(port)) return []
  const attached = objects.list('HTTPRoute').filter((route) => isAttached(route, service, port))
  const own = attached.filter(({ namespace }) => namespace === callers)
  return own.length > 0 ? own : attached.filter(({ namespace }) => namespace === service.namespace)
}

/** True if a route is about a port of a service. */
export function isAttached(
  { namespace: home, spec: { parentRefs = [] } }: Known<'HTTPRoute'>,
  { namespace, name }: Known<'Service'>,
  port: ServicePort,
): boolean {
  return parentRefs.some(
    (parent) =>
      parent.group === '' &&
      parent.kind === 'Service' &&
      parent.name === name &&
      (parent.namespace ?? home) === namespace &&
      (parent.port ?? port.port) === port.port &&
      (parent.sectionName ?? port.name) === port.name,
  )
}

/** The rule that a request is for: that of the closest match of all routes. */
export function ruleFor(routes: readonly Known<'HTTPRoute'>[], request: SentRequest): ChosenRule | undefined {
  const found = routes.flatMap((route) =>
    rulesOf(route).flatMap((rule) =>
      matchesOf(rule)
        .filter((match) => isUsableMatch(match) && isFor(match, request))
        .map((match) => ({ route, rule, match })),
    ),
  )
  // Routes come by name, and sorting keeps the order of equals.
  return found.toSorted((a, b) => closeness(b.match) - closeness(a.match) || compareConditions(a.match, b.match))[0]
}

export function rulesOf({ spec: { rules } }: Known<'HTTPRoute'>): readonly RouteRule[] {
  return rules ?? [{}]
}

/** A rule without matches is for all requests. */
export function matchesOf({ matches = [] }: RouteRule): readonly RouteMatch[] {
  return matches.length === 0 ? [{}] : matches
}

/** The prefix that a match names, without slashes at its end; empty if it names none. */
export function prefixOf({ path }: RouteMatch): string {
  return isPrefix(path) ? (path?.value ?? '/').replace(/\/+$/, '') : ''
}

function isPrefix(path: RouteMatch['path']): boolean {
  return (path?.type ?? 'PathPrefix') === 'PathPrefix'
}

function isUsableMatch({ path, headers = [], queryParams = [] }: RouteMatch): boolean {
  const isRead = ({ type, value }: { readonly type?: string; readonly value?: string }): boolean =>
    type !== 'RegularExpression' || isExpression(value ?? '/')
  return (
    (path === undefined || isRead(path)) &&
    (path?.type === 'RegularExpression' || (path?.value ?? '/').startsWith('/')) &&
    firstOfEach(headers, true).every((header) => isHeaderName(header.name) && isRead(header)) &&
    firstOfEach(queryParams, false).every(isRead)
  )
}

function isFor(match: RouteMatch, { method, path, query, headers }: SentRequest): boolean {
  if (match.method !== undefined && match.method !== method) return false
  if (!isPathFor(match, path)) return false
  const parameters = parametersOf(query)
  return (
    firstOfEach(match.headers ?? [], true).every((condition) => {
      const name = condition.name.toLowerCase()
      return isValueFor(condition, isWithheld(name) ? undefined : headers.get(name))
    }) && firstOfEach(match.queryParams ?? [], false).every((each) => isValueFor(each, parameters.get(each.name)))
  )
}

function isPathFor(match: RouteMatch, path: string): boolean {
  const { type = 'PathPrefix', value = '/' } = match.path ?? {}
  if (type === 'Exact') return path === value
  if (type === 'RegularExpression') return covers(value, path)
  return `${path}/`.startsWith(`${prefixOf(match)}/`)
}

function isValueFor({ type = 'Exact', value }: ValueMatch, found: string | undefined): boolean {
  if (found === undefined) return false
  return type === 'Exact' ? found === value : covers(value, found)
}

/** The first value of each parameter, as it is written. */
function parametersOf(query: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const parameter of query.replace(/^\?/, '').split('&')) {
    const at = parameter.indexOf('=')
    const name = at === -1 ? parameter : parameter.slice(0, at)
    if (!found.has(name)) found.set(name, at === -1 ? '' : parameter.slice(at + 1))
  }
  return found
}

/** Of conditions on one name the first counts. */
function firstOfEach(conditions: readonly ValueMatch[], ignoresCase: boolean): readonly ValueMatch[] {
  const nameOf = ({ name }: ValueMatch): string => (ignoresCase ? name.toLowerCase() : name)
  return conditions.filter(
    (condition, index) => conditions.findIndex((other) => nameOf(other) === nameOf(condition)) === index,
  )
}

/** Exact paths, then expressions, then prefixes. */
function closeness(match: RouteMatch): number {
  if (match.path?.type === 'Exact') return 3
  if (match.path?.type === 'RegularExpression') return 2
  return prefixOf(match) === '' ? 0 : 1
}

/** Between matches with paths of one kind. */
function compareConditions(a: RouteMatch, b: RouteMatch): number {
  return (
    pathLength(b) - pathLength(a) ||
    Number(b.method !== undefined) - Number(a.method !== undefined) ||
    firstOfEach(b.headers ?? [], true).length - firstOfEach(a.headers ?? [], true).length ||
    firstOfEach(b.queryParams ?? [], false).length - firstOfEach(a.queryParams ?? [], false).length
  )
}

function pathLength(match: RouteMatch): number {
  return isPrefix(match.path) ? prefixOf(match).length : (match.path?.value ?? '/').length
}
