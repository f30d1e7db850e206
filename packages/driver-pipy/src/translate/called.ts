import type {
  ClientRulesPart,
  EgressPart,
  OutboundPart,
  OutboundRoute,
  PartInSet,
  PartRef,
  ProxyPart,
  RetryPolicy,
} from '@osm-ts/driver-api/policy'

import type { CalledService, EgressRule, Retries, Route } from '../config/types.js'
import { socketText } from './address.js'
import { requestMatch } from './matching.js'
import type { PolicyReader } from './policy-reader.js'
import { messageChanges, redirectOf, rewriteOf } from './route-changes.js'
import { connectionShares, routeShares, sharesOf } from './shares.js'
import { egressGatewayRoutes, type EgressGatewayRoutes } from './egress-gateway-routes.js'

/** What Envoy waits before the first repetition, on the average twice, where nothing is said. */
const USUAL_BACKOFF_MS = 25

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
    ...(part.sharedWith === undefined ? {} : { sharedWith: part.sharedWith }),
    ...(listen === undefined || part.rules.kind !== 'tcp' ? {} : { listen }),
    hosts: [...hosts].sort(),
    ...(part.rules.kind === 'http'
      ? { routes: routesOf(part.rules.routes, reader, ref, '/rules/routes') }
      : { shares: connectionShares(part.rules) }),
    ...(retries === undefined ? {} : { retries: retriesOf(retries) }),
  }
}

/** Destinations outside the mesh that a proxy may reach, sorted by id, and the gateways that they are behind. */
export function destinationsOutside(
  proxy: ProxyPart,
  reader: PolicyReader,
): { readonly rules: readonly EgressRule[]; readonly gateways: EgressGatewayRoutes } {
  const gateways = egressGatewayRoutes(clientRules(proxy, reader))
  const rules = reader
    .members(proxy.egress, 'egress')
    .map((member) => egressRule(member, reader, gateways.of(member.part.id)))
  return { rules, gateways }
}

function egressRule({ part, ref }: PartInSet<EgressPart>, reader: PolicyReader, way: string | undefined): EgressRule {
  const names = part.protocol === 'https' ? part.serverNames : part.hosts
  return {
    id: part.id,
    port: part.port,
    protocol: part.protocol === 'tcp-server-first' ? 'tcp' : part.protocol,
    hosts: names.map((host) => host.toLowerCase()).sort(),
    cidrs: [...part.cidrs].sort(),
    ...(part.protocol === 'http'
      ? { routes: routesOf(part.routes, reader, ref, '/routes') }
      : { shares: sharesOf(part.targets) }),
    ...(way === undefined ? {} : { way }),
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
  return routes.map((route, i) => ({
    match: requestMatch(route.match, reader, ref, `${pointer}/${i}/match`),
    shares: routeShares(route),
    ...(route.timeoutMs > 0 ? { timeoutMs: route.timeoutMs } : {}),
    ...(route.redirect === undefined ? {} : { redirect: redirectOf(route.redirect, route.match) }),
    ...messageChanges(route),
    ...(route.rewrite === undefined ? {} : { rewrite: rewriteOf(route.rewrite, route.match) }),
    ...(route.mirrors === undefined ? {} : { mirrors: route.mirrors }),
  }))
}

function retriesOf({ retryOn, numRetries, perTryTimeoutMs, backoffBaseIntervalMs }: RetryPolicy): Retries {
  return {
    on: [...retryOn].sort(),
    times: numRetries,
    ...(perTryTimeoutMs === undefined ? {} : { tryTimeoutMs: perTryTimeoutMs }),
    backoffMs: backoffBaseIntervalMs ?? USUAL_BACKOFF_MS,
  }
}
