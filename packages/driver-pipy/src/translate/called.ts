import type {
  ClientRulesPart,
  EgressPart,
  OutboundPart,
  OutboundRoute,
  PartInSet,
  PartRef,
  ProxyPart,
  RetryPolicy,
  WeightedUpstream,
} from '@osm-ts/driver-api'

import type { CalledService, EgressRule, Retries, Route, Shares } from '../config/types.js'
import { socketText } from './address.js'
import { requestMatch } from './matching.js'
import type { PolicyReader } from './policy-reader.js'

/** What Envoy waits before the first repetition, on the average twice, where nothing is said. */
const USUAL_BACKOFF_MS = 25

/** Stands for every destination without gateways of its own. */
const OTHERS = '*'

/** Services of the mesh that a proxy calls, sorted by id. */
export function calledServices(proxy: ProxyPart, reader: PolicyReader): readonly CalledService[] {
  const retries = new Map(clientRules(proxy, reader)?.retries.map(({ outbound, policy }) => [outbound, policy]))
  const bindings = new Map(proxy.outboundBindings.map(({ id, listen }) => [id, socketText(listen)]))
  return reader
    .members(proxy.outbound, 'outbound')
    .map((member) => calledService(member, bindings.get(member.part.id), retries.get(member.part.id), reader))
}

function calledService(
  { part, ref, shortNames }: PartInSet<OutboundPart>,
  listen: string | undefined,
  retries: RetryPolicy | undefined,
  reader: PolicyReader,
): CalledService {
  const hosts = new Set([...part.hosts, ...(shortNames ? [part.shortHost] : [])].map((host) => host.toLowerCase()))
  return {
    id: part.id,
    port: part.port,
    addresses: part.addresses.map((address) => socketText({ address, port: part.port })).sort(),
    ...(listen === undefined || part.rules.kind !== 'tcp' ? {} : { listen }),
    hosts: [...hosts].sort(),
    ...(part.rules.kind === 'http'
      ? { routes: routesOf(part.rules.routes, reader, ref, '/rules/routes') }
      : { shares: sharesOf(part.rules.targets) }),
    ...(retries === undefined ? {} : { retries: retriesOf(retries) }),
  }
}

/** Destinations outside the mesh that a proxy may reach, sorted by id; and whether all that no rule names may be reached too. */
export function destinationsOutside(
  proxy: ProxyPart,
  reader: PolicyReader,
  egressEnabled: boolean,
): { readonly rules: readonly EgressRule[]; readonly others: boolean } {
  const gateways = clientRules(proxy, reader)?.gateways ?? []
  const behind = new Set(gateways.map(({ egress }) => egress))
  if (gateways.length > 0 && proxy.clientRules !== undefined) {
    const ref: PartRef = { kind: 'clientRules', id: proxy.identity, hash: proxy.clientRules }
    reader.refuse(
      ref,
      '/gateways',
      'class pipy has no tunnels to egress gateways; what is to leave through them does not leave',
    )
  }
  const rules = reader.members(proxy.egress, 'egress').map((member) => {
    const isClosed = behind.has(member.part.id) || behind.has(OTHERS)
    return egressRule(member, reader, isClosed)
  })
  return { rules, others: egressEnabled && !behind.has(OTHERS) }
}

/** The rule of a destination. A closed one leads nowhere: with global egress its traffic would leave by itself if there were none. */
function egressRule({ part, ref }: PartInSet<EgressPart>, reader: PolicyReader, isClosed: boolean): EgressRule {
  const names = part.protocol === 'https' ? part.serverNames : part.hosts
  const routes = routesOf(part.routes, reader, ref, '/routes')
  return {
    id: part.id,
    port: part.port,
    protocol: part.protocol === 'tcp-server-first' ? 'tcp' : part.protocol,
    hosts: names.map((host) => host.toLowerCase()).sort(),
    cidrs: [...part.cidrs].sort(),
    ...(part.protocol === 'http'
      ? { routes: isClosed ? routes.map((route) => ({ ...route, shares: [] })) : routes }
      : { shares: isClosed ? [] : sharesOf(part.targets) }),
  }
}

function clientRules(proxy: ProxyPart, reader: PolicyReader): ClientRulesPart | undefined {
  return proxy.clientRules === undefined ? undefined : reader.part(proxy.clientRules, 'clientRules')
}

function routesOf(
  routes: readonly OutboundRoute[],
  reader: PolicyReader,
  ref: PartRef,
  pointer: string,
): readonly Route[] {
  return routes.map(({ match, targets, timeoutMs }, i) => ({
    match: requestMatch(match, reader, ref, `${pointer}/${i}/match`),
    shares: sharesOf(targets),
    ...(timeoutMs > 0 ? { timeoutMs } : {}),
  }))
}

function sharesOf(targets: readonly WeightedUpstream[]): Shares {
  return targets
    .filter(({ weight }) => weight > 0)
    .map(({ upstream, weight }) => ({ upstream, weight }))
    .sort((a, b) => (a.upstream < b.upstream ? -1 : 1))
}

function retriesOf({ retryOn, numRetries, perTryTimeoutMs, backoffBaseIntervalMs }: RetryPolicy): Retries {
  return {
    on: [...retryOn].sort(),
    times: numRetries,
    ...(perTryTimeoutMs === undefined ? {} : { tryTimeoutMs: perTryTimeoutMs }),
    backoffMs: backoffBaseIntervalMs ?? USUAL_BACKOFF_MS,
  }
}
