import type { ServiceAccountRef } from '@osm-ts/driver-api'
import {
  compareText,
  type EgressPart,
  type SetMemberKind,
  type SetPart,
  type UpstreamPart,
  type WeightedUpstream,
} from '@osm-ts/driver-api/policy'

import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { settingInputs } from '../../inputs/inputs.js'
import { ANYWHERE } from './egress-destinations.js'
import { globalGateways, isGatewayAccount, type GatewayChoice } from './egress-gateways.js'
import { egressPlan, type PlannedEgress } from './egress-plan.js'
import type { EgressOrigination } from './egress-rules.js'
import { gatewayEndpointsFrame, gatewayUpstreamId, gatewayUpstreamPart } from './gateway-service.js'
import { nameKey, networkKey, sortedUnique } from '../parts/keys.js'
import { keepPart, makePart, samePart, type Origins, type PolicyPart, type SourceRef } from '../parts/policy-part.js'
import { settingConnection } from '../upstreams/upstream-settings.js'

/** Weight of a destination's only upstream: all of its traffic, whatever the number. */
const WHOLE = 100

type Context = QueryContext<CatalogState>

/** The set of egress parts of an account; undefined if nothing outside the mesh is opened to it. */
export const egressSet = defineQuery<CatalogState, ServiceAccountRef, PolicyPart<SetPart> | undefined>({
  name: 'egress-set',
  keyOf: nameKey,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, account) =>
    setOf('egress', 'egress', groups(context.get(egressPlan, account).destinations, partId).map(egressPart)),
})

/** The set of upstreams that the egress parts of an account lead to. */
export const egressUpstreamSet = defineQuery<CatalogState, ServiceAccountRef, PolicyPart<SetPart> | undefined>({
  name: 'egress-upstream-set',
  keyOf: nameKey,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, account) => {
    const planned = groups(context.get(egressPlan, account).destinations, upstreamId)
    const parts = planned.map((group) => upstreamPart(context, group))
    // No set of a namespace is called so: those have a slash where this one has none.
    return setOf('upstream-egress', 'upstream', parts)
  },
})

/** Gateways through which an account reaches a destination. */
export interface GatewayRule {
  /** As in the contract: an egress part, or {@link ANYWHERE} for every destination without gateways of its own. */
  readonly egress: string
  readonly choice: GatewayChoice
}

/** Gateways through which an account leaves the mesh, sorted by destination. */
export const gatewayRules = defineQuery<CatalogState, ServiceAccountRef, readonly GatewayRule[]>({
  name: 'gateway-rules',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, account) => {
    const { destinations } = context.get(egressPlan, account)
    const own = groups(destinations, partId).flatMap(([first, ...others]): readonly GatewayRule[] => {
      const { gateways } = [first, ...others].find((each) => each.gateways !== undefined) ?? first
      return gateways === undefined ? [] : [{ egress: partId(first), choice: gateways }]
    })
    const leaves = destinations.length > 0 || context.get(settingInputs.mesh, '').egressEnabled
    const others =
      leaves && !context.get(isGatewayAccount, account) ? context.get(globalGateways, account.namespace) : undefined
    const all = others === undefined ? own : [...own, { egress: ANYWHERE, choice: others }]
    return all.toSorted((a, b) => compareText(a.egress, b.egress))
  },
})

/** The set of parts of one kind that stand for the gateways of an account; undefined if it has none that can be used. */
export const gatewaySet = defineQuery<
  CatalogState,
  {
    readonly of: 'upstream' | 'endpoints'
    readonly account: ServiceAccountRef
    /** Of `endpoints` sets: network of the proxies; absent for that of the mesh. */
    readonly network?: string
  },
  PolicyPart<SetPart> | undefined
>({
  name: 'gateway-set',
  keyOf: ({ of, account, network }) => `${of} ${nameKey(account)}${networkKey(network)}`,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, { of, account, ...network }) => {
    const targets = context.get(gatewayRules, account).flatMap(({ choice }) => choice.targets)
    const upstreams = new Map(targets.map(({ upstream }) => [gatewayUpstreamId(upstream), upstream]))
    const parts = [...upstreams.values()].map((upstream): PolicyPart | undefined =>
      of === 'upstream'
        ? context.get(gatewayUpstreamPart, upstream)
        : context.get(gatewayEndpointsFrame, { ...upstream, ...network }),
    )
    return setOf(
      `${of}-gateways`,
      of,
      parts.filter((part) => part !== undefined),
    )
  },
})

function setOf(id: string, of: SetMemberKind, members: readonly PolicyPart[]): PolicyPart<SetPart> | undefined {
  if (members.length === 0) return undefined
  const sorted = members.toSorted((a, b) => compareText(a.part.id, b.part.id))
  return makePart<SetPart>(
    { kind: 'set', id, of, members: sorted.map(({ part, hash }) => ({ id: part.id, hash })), sets: [] },
    { children: sorted },
  )
}

/** Destinations that one part stands for. */
type Group = readonly [PlannedEgress, ...(readonly PlannedEgress[])]

function groups(planned: readonly PlannedEgress[], keyOf: (destination: PlannedEgress) => string): readonly Group[] {
  const found = new Map<string, [PlannedEgress, ...PlannedEgress[]]>()
  for (const destination of planned) {
    const group = found.get(keyOf(destination))
    if (group === undefined) found.set(keyOf(destination), [destination])
    else group.push(destination)
  }
  return [...found.values()]
}

/** One host, or all ranges of a port that leave by the same gateways. */
function partId({ protocol, port, target, gateways }: PlannedEgress): string {
  if (protocol === 'http' || protocol === 'https') return `${protocol}|${host(target)}:${port}`
  return `${protocol}|${port}${gateways === undefined ? '' : `|${gateways.key}`}`
}

/** As in URLs: IPv6 addresses have brackets. */
function host(target: string): string {
  return target.includes(':') ? `[${target}]` : target
}

function egressPart(group: Group): PolicyPart<EgressPart> {
  const [first] = group
  const { protocol, port, target, routes } = first
  const targets: readonly WeightedUpstream[] = [{ upstream: upstreamId(first), weight: WHOLE }]
  const ranges = sortedUnique(group.map((each) => each.target))
  const isPlain = protocol === 'tcp' || protocol === 'tcp-server-first'
  return makePart<EgressPart>(
    {
      kind: 'egress',
      id: partId(first),
      port,
      protocol,
      hosts: protocol === 'http' ? [host(target)] : [],
      serverNames: protocol === 'https' ? [target] : [],
      // Every address is more than some.
      cidrs: !isPlain || ranges.includes(ANYWHERE) ? [] : ranges,
      routes: routes.map(({ match }) => ({ match, targets, timeoutMs: 0 })),
      targets: protocol === 'http' ? [] : targets,
    },
    { origins: originsOf(group) },
  )
}

function originsOf(group: Group): Origins {
  const whole = group.flatMap(({ origins }) => origins)
  const routes = group[0].routes.map(({ origins }, index): [string, readonly SourceRef[]] => [
    `/routes/${index}`,
    origins,
  ])
  return { '': whole, ...Object.fromEntries(routes) }
}

/** Names of OSM: `<host>:<port>` for HTTP, `<port>` for what goes where it was dialled to. */
function upstreamId({ protocol, port, target }: PlannedEgress): string {
  if (protocol === 'http') return `${host(target)}:${port}`
  return protocol === 'https' && target !== ANYWHERE ? `tls|${target}:${port}` : String(port)
}

function upstreamPart(context: Context, group: Group): PolicyPart<UpstreamPart> {
  const [first] = group
  const { port, target, originate } = first
  const protocol = first.protocol === 'http' ? 'http' : 'tcp'
  const settings = group.find((each) => each.settings !== undefined)?.settings
  const connection = settingConnection(context, settings, protocol)
  return makePart<UpstreamPart>(
    {
      kind: 'upstream',
      id: upstreamId(first),
      port,
      protocol,
      tls: isTls(originate) ? { mode: 'originate', serverName: target, ...originate } : { mode: 'none' },
      discovery: discovery(first),
      loadBalancing: { policy: 'round-robin' },
      ...connection.members,
    },
    { origins: { '': group.flatMap(({ origins }) => origins), ...connection.origins } },
  )
}

function isTls(originate: PlannedEgress['originate']): originate is EgressOrigination {
  return originate !== undefined && originate !== 'unavailable'
}

/**
 * Where a host is named, its own addresses count and not the one that was dialled: otherwise a request, or a TLS handshake, that only says an allowed name
 * could go anywhere.
 */
function discovery({ protocol, port, target, originate }: PlannedEgress): UpstreamPart['discovery'] {
  // The destination stays, without an address: no one else, and no global egress, must open it in plaintext.
  if (originate === 'unavailable') return { kind: 'static', addresses: [] }
  const isPlain = protocol === 'tcp' || protocol === 'tcp-server-first'
  if (isPlain || (protocol === 'https' && target === ANYWHERE)) return { kind: 'originalDestination', port }
  return target.startsWith(ANYWHERE) ? { kind: 'forwardProxy' } : { kind: 'dns', host: target, port }
}
