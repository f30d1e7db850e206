import type { RouteMatch, ValueMatch } from './http-route-spec.js'
import { isUsableRule, matchesOf } from './http-route-filters.js'
import { isWithheld } from './identity-headers.js'
import type { Known } from './objects.js'
import type { RequestMatch, RequestRoute, SentRequest } from './request-routes.js'
import { covers, isExpression, isHeaderName } from './route-match.js'

/** An HTTPRoute. */
export function readHttpRoute({ namespace, name, createdAt, spec }: Known<'HTTPRoute'>): RequestRoute {
  const { parentRefs = [], rules = [{}] } = spec
  return {
    kind: 'HTTPRoute',
    namespace,
    name,
    createdAt,
    parentRefs,
    rules: rules.map((rule) => ({
      matches: matchesOf(rule).filter(isUsableMatch).map(readMatch),
      isUsable: isUsableRule(rule),
      filters: rule.filters ?? [],
      backendRefs: rule.backendRefs ?? [],
      retry: rule.retry,
    })),
  }
}

function readMatch(match: RouteMatch): RequestMatch {
  return {
    isFor: (request) => isFor(match, request),
    rank: [
      closeness(match),
      pathLength(match),
      Number(match.method !== undefined),
      firstOfEach(match.headers ?? [], true).length,
      firstOfEach(match.queryParams ?? [], false).length,
    ],
    prefix: prefixOf(match),
  }
}

/** The prefix that a match names, without slashes at its end; empty if it names none. */
function prefixOf({ path }: RouteMatch): string {
  return isPrefix(path) ? (path?.value ?? '/').replace(/\/+$/, '') : ''
}

function isPrefix(path: RouteMatch['path']): boolean {
  return (path?.type ?? 'PathPrefix') === 'PathPrefix'
}

function isRead({ type, value }: { readonly type?: string; readonly value?: string }): boolean {
  return type !== 'RegularExpression' || isExpression(value ?? '/')
}

/** False if some condition on a header cannot be used: its match is for no request then. */
export function areUsableHeaders(headers: readonly ValueMatch[]): boolean {
  return firstOfEach(headers, true).every((header) => isHeaderName(header.name) && isRead(header))
}

function isUsableMatch({ path, headers = [], queryParams = [] }: RouteMatch): boolean {
  return (
    (path === undefined || isRead(path)) &&
    (path?.type === 'RegularExpression' || (path?.value ?? '/').startsWith('/')) &&
    areUsableHeaders(headers) &&
    firstOfEach(queryParams, false).every(isRead)
  )
}

function isFor(match: RouteMatch, request: SentRequest): boolean {
  if (match.method !== undefined && match.method !== request.method) return false
  if (!isPathFor(match, request.path)) return false
  const parameters = parametersOf(request.query)
  return (
    areHeadersFor(match.headers ?? [], request) &&
    firstOfEach(match.queryParams ?? [], false).every((each) => isValueFor(each, parameters.get(each.name)))
  )
}

/** True if a request meets all conditions on headers. */
export function areHeadersFor(conditions: readonly ValueMatch[], { headers }: SentRequest): boolean {
  return firstOfEach(conditions, true).every((condition) => {
    const name = condition.name.toLowerCase()
    return isValueFor(condition, isWithheld(name) ? undefined : headers.get(name))
  })
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
export function firstOfEach(conditions: readonly ValueMatch[], ignoresCase: boolean): readonly ValueMatch[] {
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

function pathLength(match: RouteMatch): number {
  return isPrefix(match.path) ? prefixOf(match).length : (match.path?.value ?? '/').length
}
