import type { HeaderModifier, Mirror, PathModifier, RouteFilter, RouteMatch, RouteRule } from './http-route-spec.js'
import { isWithheld } from './identity-headers.js'
import type { RequestMatch, SentRequest } from './request-routes.js'
import { isHeaderName } from './route-match.js'

/** Headers that frame a message or choose its destination. */
const FRAMING = ['host', 'connection', 'content-length', 'transfer-encoding', 'upgrade', 'te']

const MIRROR = 'RequestMirror'
const FILTERS = ['RequestHeaderModifier', 'ResponseHeaderModifier', 'RequestRedirect', 'URLRewrite', MIRROR]
const CALL_FILTERS = ['RequestHeaderModifier', 'ResponseHeaderModifier', MIRROR]
const STATUSES = [301, 302, 303, 307, 308]
const HOST = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const PATH = /^\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*$/

/** False if a part of a rule is unknown, contradicts another one or is invalid: its requests are answered 500. */
export function isUsableRule({ filters = [], matches = [], backendRefs = [] }: RouteRule): boolean {
  const types = filters.map(({ type }) => type)
  const redirects = types.includes('RequestRedirect')
  return (
    filters.every((filter) => isUsableFilter(filter, matches)) &&
    isOnce(types) &&
    !(redirects && (types.includes('URLRewrite') || types.includes(MIRROR) || backendRefs.length > 0))
  )
}

/** The same of a rule of a GRPCRoute. */
export function isUsableCallRule({ filters = [] }: Pick<RouteRule, 'filters'>): boolean {
  return (
    filters.every((filter) => CALL_FILTERS.includes(filter.type) && isUsableFilter(filter, [])) &&
    isOnce(filters.map(({ type }) => type))
  )
}

/** Copies may have several destinations. Everything else is said once. */
function isOnce(types: readonly string[]): boolean {
  const others = types.filter((type) => type !== MIRROR)
  return new Set(others).size === others.length
}

/** False if the share of a backend with these filters is answered 500. */
export function areUsableOfBackend(filters: readonly RouteFilter[] = []): boolean {
  const types = filters.map(({ type }) => type)
  return (
    new Set(types).size === types.length &&
    filters.every(({ type }) => type === 'RequestHeaderModifier' || type === 'ResponseHeaderModifier') &&
    filters.every((filter) => isUsableFilter(filter, []))
  )
}

function isUsableFilter(filter: RouteFilter, matches: readonly RouteMatch[]): boolean {
  const { type, requestHeaderModifier, responseHeaderModifier, requestRedirect, urlRewrite, requestMirror } = filter
  if (!FILTERS.includes(type)) return false
  switch (type) {
    case 'RequestHeaderModifier':
      return requestHeaderModifier !== undefined && isUsableModifier(requestHeaderModifier)
    case 'ResponseHeaderModifier':
      return responseHeaderModifier !== undefined && isUsableModifier(responseHeaderModifier)
    // One that leads nowhere copies nothing.
    case MIRROR:
      return requestMirror !== undefined && isUsableShare(requestMirror)
    case 'RequestRedirect':
      return (
        requestRedirect !== undefined &&
        STATUSES.includes(requestRedirect.statusCode ?? 302) &&
        isUsableHost(requestRedirect.hostname) &&
        isUsablePath(requestRedirect.path, matches)
      )
    default:
      return urlRewrite !== undefined && isUsableHost(urlRewrite.hostname) && isUsablePath(urlRewrite.path, matches)
  }
}

/** Said by a percentage or by a fraction, of at most all requests. */
function isUsableShare({ percent, fraction }: Mirror): boolean {
  return fraction === undefined || (percent === undefined && fraction.numerator <= (fraction.denominator ?? 100))
}

function isUsableModifier({ set = [], add = [], remove = [] }: HeaderModifier): boolean {
  const names = [...set, ...add]
    .map(({ name }) => name)
    .concat(remove)
    .map((name) => name.toLowerCase())
  return (
    new Set(names).size === names.length &&
    names.every((name) => isHeaderName(name) && !name.startsWith(':') && !FRAMING.includes(name) && !isWithheld(name))
  )
}

function isUsableHost(host: string | undefined): boolean {
  return host === undefined || HOST.test(host.toLowerCase())
}

/** A prefix can be replaced where every match of the rule has one. */
function isUsablePath(path: PathModifier | undefined, matches: readonly RouteMatch[]): boolean {
  if (path === undefined) return true
  if (path.type === 'ReplaceFullPath') return PATH.test(path.replaceFullPath ?? '')
  const prefix = path.replacePrefixMatch
  return (
    prefix !== undefined &&
    (prefix === '' || PATH.test(prefix)) &&
    matchesOf({ matches }).every((match) => (match.path?.type ?? 'PathPrefix') === 'PathPrefix')
  )
}

/** A rule without matches is for all requests. */
export function matchesOf({ matches = [] }: Pick<RouteRule, 'matches'>): readonly RouteMatch[] {
  return matches.length === 0 ? [{}] : matches
}

/** The path with what a modifier replaces of it. */
export function changedPath(
  path: string,
  modifier: PathModifier | undefined,
  { prefix: matched }: RequestMatch,
): string {
  if (modifier === undefined) return path
  if (modifier.type === 'ReplaceFullPath') return modifier.replaceFullPath ?? path
  const rest = path.slice(matched.length)
  const prefix = (modifier.replacePrefixMatch ?? '').replace(/\/+$/, '')
  return `${prefix}${rest}` === '' ? '/' : `${prefix}${rest}`
}

/** The headers of a request with what filters change. */
export function changedHeaders(
  headers: SentRequest['headers'],
  filters: readonly RouteFilter[] = [],
): SentRequest['headers'] {
  const changed = new Map(headers)
  for (const { requestHeaderModifier: { set = [], add = [], remove = [] } = {} } of filters) {
    for (const { name, value } of set) changed.set(name.toLowerCase(), value)
    for (const { name, value } of add) {
      const key = name.toLowerCase()
      const before = changed.get(key)
      changed.set(key, before === undefined ? value : `${before},${value}`)
    }
    for (const name of remove) changed.delete(name.toLowerCase())
  }
  return changed
}
