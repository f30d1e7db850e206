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

import { matchesRoute, type MatchableRequest } from './match-route.js'

/** A place that the sidecar of a caller may send a request to. */
export interface ChosenUpstream {
  readonly upstream: string
  /** The request as it arrives there. */
  readonly request: MatchableRequest
}

/** The upstreams among which the sidecar of a caller chooses; empty if it answers by itself. */
export function chosenUpstreams({ rules }: OutboundPart, request: MatchableRequest): readonly ChosenUpstream[] {
  const sendsTo = ({ weight }: { readonly weight: number }): boolean => weight > 0
  if (rules.kind === 'tcp') return rules.targets.filter(sendsTo).map(({ upstream }) => ({ upstream, request }))
  const route = rules.routes.find(({ match }) => matchesRoute(match, request))
  return (route?.targets ?? []).filter(sendsTo).map((target) => ({
    upstream: target.upstream,
    request: changedRequest(request, route, target),
  }))
}

function changedRequest(
  request: MatchableRequest,
  route: OutboundRoute | undefined,
  target: RouteTarget,
): MatchableRequest {
  const path = changedPath(request.path, route)
  return {
    ...request,
    path,
    // The readings of a path that was sent are not those of another one.
    ...(path === request.path ? {} : { readings: [] }),
    headers: [route?.requestHeaders, target.requestHeaders].reduce(changedHeaders, request.headers),
  }
}

function changedPath(path: string, route: OutboundRoute | undefined): string {
  const change = route?.rewrite?.path
  if (change === undefined) return path
  if (change.type === 'full') return change.value
  const segments = route?.match.path?.type === 'segments' ? route.match.path.value : ''
  return `${change.value}/${path.slice(segments.length).replace(/^\/+/, '')}`
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
