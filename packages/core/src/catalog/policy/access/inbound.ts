import type { MeshService, Principal } from '@osm-ts/driver-api'
import {
  compareText,
  canonicalJson,
  type InboundPart,
  type InboundRules,
  type PrincipalsPart,
  type RouteMatch,
} from '@osm-ts/driver-api/policy'

import { principalOf, serverNameOf } from '../../../identity/index.js'
import { defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { settingInputs } from '../../inputs/inputs.js'
import { grantsTo, type TargetGrants } from './grants.js'
import { servedHosts } from '../routing/host-names.js'
import { servedPortKey, targetPortKey, type ServedPortRef } from '../parts/keys.js'
import { keepPart, makePart, samePart, type Origins, type PolicyPart, type SourceRef } from '../parts/policy-part.js'
import { anyPrincipal, principalList, principalsKey } from './principals.js'
import { objectRefOf } from '../problems/problems.js'
import { isHttp } from '../upstreams/protocol.js'
import { serviceModel, type MeshServicePort } from '../upstreams/services.js'
import type { Grant } from './target-rules.js'
import { servedLimits, type ServedLimits } from '../upstreams/upstream-settings.js'

type Context = QueryContext<CatalogState>

/** Requests, or connections, that some callers may make. */
interface Opening {
  readonly match: RouteMatch
  readonly allow: PolicyPart<PrincipalsPart>
  readonly origins: readonly SourceRef[]
}

/**
 * The `inbound` part of a service port as workloads of one account serve it; undefined if no one may call it.
 *
 * TrafficTargets open accounts, not services: where workloads of two accounts are behind one service, each serves its own rules. Rules that come out
 * equal are one part all the same, since equal bytes have one hash.
 */
export const inboundPart = defineQuery<CatalogState, ServedPortRef, PolicyPart<InboundPart> | undefined>({
  name: 'inbound-part',
  keyOf: servedPortKey,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, key) => {
    const service: MeshService = { namespace: key.namespace, name: key.name }
    const port = context.get(serviceModel, service)?.ports.find((candidate) => candidate.port === key.port)
    if (port === undefined) return undefined
    const openings = openingsOf(context, key, port)
    const [first] = openings
    if (first === undefined) return undefined
    const http = isHttp(port.protocol)
    const limits = servedLimits(context, service, port.protocol)
    const rules: InboundRules = http
      ? {
          kind: 'http',
          hosts: servedHosts(context, service),
          allow: openings.map(({ match, allow }) => ({ match, allow: allow.hash })),
          routeLimits: limits.routeLimits,
        }
      : { kind: 'tcp', allow: first.allow.hash }
    const externalAuthorization = http ? context.get(settingInputs.externalAuthorization, '') : undefined
    return makePart<InboundPart>(
      {
        kind: 'inbound',
        id: targetPortKey(key),
        service,
        port: key.port,
        targetPort: key.targetPort,
        protocol: port.protocol,
        serverNames: [serverNameOf(service, context.get(settingInputs.domains, '').clusterDomain)],
        rules,
        ...limits.members,
        ...(externalAuthorization === undefined ? {} : { externalAuthorization }),
      },
      { origins: inboundOrigins(service, port, openings, limits), children: openings.map(({ allow }) => allow) },
    )
  },
})

function openingsOf(context: Context, key: ServedPortRef, port: MeshServicePort): readonly Opening[] {
  if (context.get(settingInputs.permissive, ''))
    return [{ match: {}, allow: context.get(anyPrincipal, ''), origins: [] }]
  const grants = context.get(grantsTo, key.account)
  const merged = isHttp(port.protocol) ? httpOpenings(context, grants, key) : tcpOpenings(context, grants, key)
  return merged.map(({ match, callers, origins }) => ({
    match,
    allow: context.get(principalList, principalsKey(callers)),
    origins,
  }))
}

interface MergedGrant {
  readonly match: RouteMatch
  readonly callers: Set<Principal>
  readonly origins: SourceRef[]
}

/** A TrafficTarget with TCPRoutes alone allows every request, because it allows the connections that they come over. */
function httpOpenings(context: Context, grants: readonly TargetGrants[], key: ServedPortRef): readonly MergedGrant[] {
  return merge(context, grants, key, (grant) => {
    if (grant.kind === 'http') return grant.match
    return grant.everyRequest ? {} : undefined
  })
}

/** Only a TCPRoute opens a port whose requests the mesh can't see. */
function tcpOpenings(context: Context, grants: readonly TargetGrants[], key: ServedPortRef): readonly MergedGrant[] {
  return merge(context, grants, key, (grant) => (grant.kind === 'tcp' ? {} : undefined))
}

/** Grants with equal matches become one that allows the callers of all. Sorted by match. */
function merge(
  context: Context,
  grants: readonly TargetGrants[],
  { targetPort }: ServedPortRef,
  matchOf: (grant: Grant) => RouteMatch | undefined,
): readonly MergedGrant[] {
  const { trustDomain } = context.get(settingInputs.domains, '')
  const merged = new Map<string, MergedGrant>()
  for (const { sources, grants: granted } of grants) {
    const callers = sources.map((source) => principalOf(source, trustDomain))
    for (const grant of granted) {
      const match = matchOf(grant)
      if (match === undefined || grant.ports?.includes(targetPort) === false) continue
      const text = canonicalJson(match)
      const opening = merged.get(text) ?? { match, callers: new Set<Principal>(), origins: [] }
      merged.set(text, opening)
      for (const caller of callers) opening.callers.add(caller)
      for (const origin of grant.origins) opening.origins.push(origin)
    }
  }
  return [...merged].sort(([a], [b]) => compareText(a, b)).map(([, opening]) => opening)
}

function inboundOrigins(
  service: MeshService,
  port: MeshServicePort,
  openings: readonly Opening[],
  limits: ServedLimits,
): Origins {
  const pointer = (index: number): string => (isHttp(port.protocol) ? `/rules/allow/${index}` : '/rules/allow')
  return {
    '': [{ object: objectRefOf('Service', service), field: port.field }],
    ...Object.fromEntries(openings.map(({ origins }, index) => [pointer(index), origins])),
    ...limits.origins,
  }
}
