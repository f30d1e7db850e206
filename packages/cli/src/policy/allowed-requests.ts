import { allowsPrincipal } from '@osm-ts/core'
import type { MeshService, Principal } from '@osm-ts/driver-api'
import type { InboundPart, PartHash, ProxyPolicy } from '@osm-ts/driver-api/policy'

import { partOf } from '../proxy/find-parts.js'
import { describeMatch } from '../proxy/policy-summary.js'

/** What a caller may do at one port of a proxy. */
export interface AllowedRequests {
  /** Hash of the inbound part that says so. */
  readonly part: PartHash
  readonly service: MeshService
  readonly port: number
  readonly protocol: InboundPart['protocol']
  /** In words; one entry for each kind of request. */
  readonly requests: readonly string[]
}

/** What the policy of a proxy lets a caller do, by its ports. */
export function allowedRequests(policy: ProxyPolicy, caller: Principal): readonly AllowedRequests[] {
  return policy.proxy.inbound.flatMap(({ part }) => {
    const served = partOf(policy, 'inbound', part)
    const requests = served === undefined ? [] : requestsOf(policy, served, caller)
    if (served === undefined || requests.length === 0) return []
    const { service, port, protocol } = served
    return [{ part, service, port, protocol, requests }]
  })
}

function requestsOf(policy: ProxyPolicy, { rules }: InboundPart, caller: Principal): readonly string[] {
  switch (rules.kind) {
    case 'deny':
      return []
    case 'tcp':
      return isAllowed(policy, rules.allow, caller) ? ['any connection'] : []
    case 'http':
      return rules.allow
        .filter(({ allow }) => isAllowed(policy, allow, caller))
        .map(({ match }) => describeMatch(match))
  }
}

function isAllowed(policy: ProxyPolicy, allow: PartHash, caller: Principal): boolean {
  const principals = partOf(policy, 'principals', allow)
  return principals !== undefined && allowsPrincipal(principals, caller)
}
