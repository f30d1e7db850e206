import { type InboundPart, namedHeaders } from '@osm-ts/driver-api/policy'
import { VirtualHostSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'

import { encode } from '../encoding/encode.js'
import { requestDescriptors } from '../limits/global-rate-limits.js'
import { servedHost } from './inbound-chain.js'
import { routeMatch } from '../routing/matching.js'
import { names } from '../encoding/names.js'
import { allowRules, denyAll, type ResolvedRule } from '../access/rbac.js'
import { type KeptByPorts, servedConfig, servedRoutes } from './served-routes.js'

/** What decides the bytes of a served service's virtual host. */
export interface InboundVirtualHost extends KeptByPorts {
  readonly part: InboundPart
  /** Rules of an HTTP port; empty in the deny form. */
  readonly rules: readonly ResolvedRule[]
  readonly trustDomain: string
  /** Host names that another service on the port has as well and keeps: Envoy refuses a name that stands twice. They select nothing here. */
  readonly hostsOfOthers: readonly string[]
}

/** The virtual host of a served service. Its rules come with routes rather than with the listener, so that a change of them drains no connection. */
export function inboundVirtualHost({
  part,
  rules,
  trustDomain,
  hostsOfOthers,
  keepsOtherSpellings,
  keepsEscapedSlashes,
}: InboundVirtualHost): Uint8Array {
  const others = new Set(hostsOfOthers)
  const virtualHost = {
    name: names.inboundVirtualHost(servedHost(part)),
    domains: hostsOf(part).filter((host) => !others.has(host)),
  }
  if (part.rules.kind !== 'http') {
    return encode(VirtualHostSchema, {
      ...virtualHost,
      routes: [{ match: routeMatch({}), action: { case: 'directResponse', value: { status: 403 } } }],
      typedPerFilterConfig: servedConfig(denyAll, undefined, []),
    })
  }
  const matches = [...rules, ...part.rules.routeLimits].map(({ match }) => match)
  return encode(VirtualHostSchema, {
    ...virtualHost,
    routes: servedRoutes(part, part.rules.routeLimits, keepsEscapedSlashes),
    rateLimits: requestDescriptors(part.rateLimits?.globalHttp?.descriptors),
    typedPerFilterConfig: servedConfig(
      allowRules(rules, { kind: 'identity', trustDomain }, keepsEscapedSlashes),
      part.rateLimits?.http,
      keepsOtherSpellings ? [] : namedHeaders(matches),
    ),
  })
}

/** The names of a virtual host: those of the service, and the SNI names, one of which selects it. */
export function hostsOf(part: InboundPart): readonly string[] {
  const hosts = part.rules.kind === 'http' ? part.rules.hosts : []
  return [...new Set([...part.serverNames, ...hosts])].sort()
}
