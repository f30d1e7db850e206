import type { Principal } from '@osm-ts/driver-api'
import type { InboundPart, OutboundPart, PartHash, PrincipalsPart } from '@osm-ts/driver-api/policy'

import { matchesRoute, type MatchableRequest } from './match-route.js'

/** The `upstream` ids among which the sidecar of a caller chooses; empty if it answers by itself. */
export function chosenUpstreams({ rules }: OutboundPart, request: MatchableRequest): readonly string[] {
  const targets =
    rules.kind === 'tcp'
      ? rules.targets
      : (rules.routes.find(({ match }) => matchesRoute(match, request))?.targets ?? [])
  return targets.filter(({ weight }) => weight > 0).map(({ upstream }) => upstream)
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
