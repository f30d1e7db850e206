import type { CallMatch } from './http-route-spec.js'
import { isUsableCallRule } from './http-route-filters.js'
import { areHeadersFor, areUsableHeaders, firstOfEach } from './http-route-match.js'
import type { Known } from './objects.js'
import type { RequestMatch, RequestRoute } from './request-routes.js'
import { covers, isExpression } from './route-match.js'

/** Names that an exact match may have. */
const SERVICE = /^\.?[a-z_][a-z_0-9]*(\.[a-z_][a-z_0-9]*)*$/i
const METHOD = /^[a-z_][a-z_0-9]*$/i

/** A GRPCRoute: a call is a request for `/<service>/<method>`. */
export function readGrpcRoute({ namespace, name, createdAt, spec }: Known<'GRPCRoute'>): RequestRoute {
  const { parentRefs = [], rules = [{}] } = spec
  return {
    kind: 'GRPCRoute',
    namespace,
    name,
    createdAt,
    parentRefs,
    rules: rules.map((rule) => {
      const { matches = [], filters = [], backendRefs = [] } = rule
      return {
        matches: (matches.length === 0 ? [{}] : matches).filter(isUsable).map(readMatch),
        isUsable: isUsableCallRule(rule),
        filters,
        backendRefs,
        retry: undefined,
      }
    }),
  }
}

function isUsable({ method, headers = [] }: CallMatch): boolean {
  if (!areUsableHeaders(headers)) return false
  if (method === undefined) return true
  const { type = 'Exact', service = '', method: own = '' } = method
  if (service === '' && own === '') return false
  if (type !== 'Exact') return isExpression(service) && isExpression(own)
  return (service === '' || SERVICE.test(service)) && (own === '' || METHOD.test(own))
}

function readMatch({ method = {}, headers = [] }: CallMatch): RequestMatch {
  const { type = 'Exact', service = '', method: own = '' } = method
  return {
    isFor: (request) => isCalled(type, service, own, request.path) && areHeadersFor(headers, request),
    rank: [service.length, own.length, firstOfEach(headers, true).length],
    prefix: '',
  }
}

/** Requests that are no calls have other paths: a service alone is its first segment, and expressions see all of it. */
function isCalled(type: string, service: string, method: string, path: string): boolean {
  if (service === '' && method === '') return true
  if (type !== 'Exact') return covers(`/${orAny(service)}/${orAny(method)}`, path)
  if (method === '') return path === `/${service}` || path.startsWith(`/${service}/`)
  return service === '' ? /^\/[^/]+\/([^/]+)$/.exec(path)?.[1] === method : path === `/${service}/${method}`
}

function orAny(expression: string): string {
  return expression === '' ? '[^/]+' : `(?:${expression})`
}
