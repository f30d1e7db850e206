import type { Principal } from '@osm-ts/driver-api'
import type {
  HeaderChanges,
  InboundPart,
  OutboundPart,
  OutboundRoute,
  PartHash,
  PrincipalsPart,
  RouteTarget,
} from '@osm-ts/driver-api/policy'
import { dictionary } from '@osm-ts/driver-api/toolkit'

import type { CallerAnswer } from './access-decision.js'
import { matchesRoute, type MatchableRequest } from './match-route.js'

/** A place that the sidecar of a caller may send a request to. */
export interface ChosenUpstream {
  readonly upstream: string
  /** The request as it arrives there. */
  readonly request: MatchableRequest
}

/** What the sidecar of a caller does with a request. */
export interface CallerSide {
  /** Among which it chooses; empty if it answers by itself. */
  readonly upstreams: readonly ChosenUpstream[]
  /** What it answers by itself: to all requests, or to a share of them if there are upstreams. */
  readonly answer?: CallerAnswer
}

/**
 * What the sidecar of a caller does with a request.
 *
 * @param serverName - that a TLS connection asks for; without it all server names are meant
 */
export function callerSide({ rules }: OutboundPart, request: MatchableRequest, serverName?: string): CallerSide {
  if (rules.kind === 'tcp') return connectionSide(rules, request, serverName)
  const route = rules.routes.find(({ match }) => matchesRoute(match, request))
  if (route === undefined) return { upstreams: [], answer: { status: 404, reason: 'no rule matches the request' } }
  const { redirect, errorWeight = 0, errorStatus = 500, targets } = route
  if (redirect !== undefined)
    return { upstreams: [], answer: { status: redirect.status, reason: 'the rule redirects requests' } }
  const upstreams = targets.filter(getsTraffic).map((target) => ({
    upstream: target.upstream,
    request: changedRequest(request, route, target),
  }))
  if (errorWeight === 0) return { upstreams }
  const reason = errorStatus === 503 ? 'a backend has no workloads' : 'the rule has no backend that it may use'
  return { upstreams, answer: { status: errorStatus, reason } }
}

type ConnectionRules = Extract<OutboundPart['rules'], { readonly kind: 'tcp' }>

/** What the sidecar of a caller does with a connection. */
function connectionSide(rules: ConnectionRules, request: MatchableRequest, serverName: string | undefined): CallerSide {
  const { serverNameRoutes, targets } = rules
  const toUpstreams = (shares: ConnectionRules['targets']): readonly ChosenUpstream[] =>
    [...new Set(shares.filter(getsTraffic).map(({ upstream }) => upstream))].map((upstream) => ({ upstream, request }))
  if (serverNameRoutes !== undefined && serverName === undefined)
    return {
      upstreams: toUpstreams([...serverNameRoutes.flatMap((route) => route.targets), ...targets]),
      answer: { status: 'closed', reason: 'connections go by their server name, and those of other names nowhere' },
    }
  const named =
    serverName === undefined ? undefined : routeOfServerName(serverNameRoutes ?? [], serverName.toLowerCase())
  if (serverNameRoutes !== undefined && named === undefined) {
    const reason = `no TLSRoute of the port has the server name ${serverName ?? ''}`
    return { upstreams: toUpstreams(targets), answer: { status: 'closed', reason } }
  }
  const { targets: shares, errorWeight } = named ?? rules
  const upstreams = toUpstreams(shares)
  if (errorWeight === undefined) return { upstreams }
  return { upstreams, answer: { status: 'closed', reason: 'a backend of the route cannot be used' } }
}

/** The route of a name itself, else of the longest wildcard that it is below. */
function routeOfServerName(routes: NonNullable<ConnectionRules['serverNameRoutes']>, name: string) {
  const closeness = ({ serverNames }: (typeof routes)[number]): number =>
    Math.max(
      ...serverNames.map((known) =>
        known === name ? Infinity : known.startsWith('*.') && name.endsWith(known.slice(1)) ? known.length : 0,
      ),
    )
  const [closest] = [...routes].sort((a, b) => closeness(b) - closeness(a))
  return closest === undefined || closeness(closest) === 0 ? undefined : closest
}

function getsTraffic({ weight }: { readonly weight: number }): boolean {
  return weight > 0
}

function changedRequest(
  request: MatchableRequest,
  route: OutboundRoute | undefined,
  target: RouteTarget,
): MatchableRequest {
  return {
    ...request,
    path: changedPath(request.path, route),
    headers: [route?.requestHeaders, target.requestHeaders].reduce(changedHeaders, request.headers),
  }
}

function changedPath(path: string, route: OutboundRoute | undefined): string {
  const change = route?.rewrite?.path
  if (change === undefined) return path
  if (change.type === 'full') return change.value
  const segments = route?.match.path?.type === 'segments' ? route.match.path.value : ''
  const rest = path.slice(segments.length)
  // Without anything in place of the segments, the path still begins with one slash.
  return change.value === '' ? `/${rest.replace(/^\/+/, '')}` : `${change.value}${rest.replace(/^\/+/, '/')}`
}

function changedHeaders(
  headers: MatchableRequest['headers'],
  { set = [], add = [], remove = [] }: HeaderChanges = {},
): MatchableRequest['headers'] {
  const changed = new Map(Object.entries(headers))
  for (const { name, value } of set) changed.set(name, value)
  for (const { name, value } of add) changed.set(name, [changed.get(name) ?? [], value].flat().join(','))
  for (const name of remove) changed.delete(name)
  return dictionary(changed)
}

/** JSON pointer to the rule by which the sidecar of the called workload lets a request in; undefined if no rule does. */
export function admittingRule(
  { rules }: InboundPart,
  caller: Principal,
  request: MatchableRequest,
  principals: (hash: PartHash) => PrincipalsPart | undefined,
): string | undefined {
  const lists = (hash: PartHash): boolean => {
    const part = principals(hash)
    return part !== undefined && allowsPrincipal(part, caller)
  }
  switch (rules.kind) {
    case 'deny':
      return undefined
    case 'tcp':
      return lists(rules.allow) ? '/rules/allow' : undefined
    case 'http': {
      const index = rules.allow.findIndex(({ match, allow }) => lists(allow) && matchesRoute(match, request))
      return index === -1 ? undefined : `/rules/allow/${index}`
    }
  }
}

/** True if a `principals` part allows the caller. */
export function allowsPrincipal(part: PrincipalsPart, caller: Principal): boolean {
  return part.match === 'trustDomain' ? caller.endsWith(`.${part.trustDomain}`) : part.principals.includes(caller)
}
