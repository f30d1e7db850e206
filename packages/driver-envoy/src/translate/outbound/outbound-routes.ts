import {
  compareBy,
  compareCanonical,
  compareText,
  type OutboundPart,
  type OutboundRoute,
  type RetryPolicy,
  type RouteTarget,
} from '@osm-ts/driver-api/policy'
import {
  type RetryPolicySchema,
  RouteAction_ClusterNotFoundResponseCode as NotFoundCode,
  type RouteSchema,
  VirtualHostSchema,
  type WeightedCluster_ClusterWeightSchema,
} from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'
import { RouteConfigurationSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_pb.js'

import { type BreakersByCluster, NO_BREAKERS } from '../upstreams/breakers.js'
import { printedAddress } from '../encoding/address.js'
import { appendTo, duration, encode, extend, type Init, oneOf } from '../encoding/encode.js'
import { SERVICE_HEADER } from '../routing/http-manager.js'
import { type HeaderMatcherInit, headerValue, routeMatch } from '../routing/matching.js'
import { fullHostName, names } from '../encoding/names.js'
import { breakerOfCluster } from '../upstreams/statistical-breaker.js'
import { closingFilter, WITHOUT_HOST } from './shared-chains.js'
import { changesOfBoth, headerChanges, mirrorPolicies, redirectAction, rewriteFields } from './route-actions.js'

type RouteInit = Init<typeof RouteSchema>

/** How a client addresses a called service. */
export type HostForm =
  /** Transparent mode: the address that is dialled chooses the service. */
  | 'dialled'
  /** Transparent mode: the host chooses it at an address that it shares with the service that is dialled. */
  | 'sharing'
  /** Explicit mode: one for all ports, so that only the port 80 goes without saying. */
  | 'explicit'

/** The virtual host of a called service. */
export function outboundVirtualHost(
  part: OutboundPart,
  shortName: boolean,
  form: HostForm,
  breakers: BreakersByCluster,
): Uint8Array {
  const host = fullHostName(part.service, part.hosts)
  return encode(VirtualHostSchema, {
    name: names.outboundVirtualHost(form === 'explicit' ? `${host}:${part.port}` : host),
    domains: form === 'dialled' ? ['*'] : hostsOf(part, shortName, form === 'sharing' || part.port === 80),
    routes: part.rules.kind === 'http' ? part.rules.routes.map((route) => weightedRoute(route, breakers)) : [],
  })
}

/**
 * The virtual host of a called service among those that share a chain, see {@link SharedChain}: it stands for addresses, whatever host a request names.
 *
 * @param addresses - those that no other virtual host of the chain stands for
 * @param closes - its connections end with the next answer, since new ones are for another chain, or for none
 */
export function addressedVirtualHost(part: OutboundPart, addresses: readonly string[], closes = false): Uint8Array {
  const routes = part.rules.kind === 'http' ? part.rules.routes : []
  const own = givenHost(part)
  return encode(VirtualHostSchema, {
    name: names.outboundVirtualHost(fullHostName(part.service, part.hosts)),
    domains: addresses.map(printedAddress),
    routes: [
      ...routes.map((route) => weightedRoute(route, NO_BREAKERS, own)),
      ...routes.map((route) => weightedRoute(route)),
    ],
    ...(closes ? { typedPerFilterConfig: closingFilter() } : {}),
  })
}

/** The host that a request without one is given: the name of the service, also where `*.<service>` stands for its workloads. */
function givenHost({ service: { namespace, name } }: OutboundPart): string {
  return `${name.startsWith('*.') ? name.slice(2) : name}.${namespace}`
}

/** Answers for addresses that were taken away while a connection to them was open, and idle for as long as connections drain. */
export function goneVirtualHost(): Uint8Array {
  const answer = { status: 503, body: { specifier: oneOf('inlineString', 'no service of the mesh has this address') } }
  return encode(VirtualHostSchema, {
    name: names.outboundVirtualHost('*'),
    domains: ['*'],
    routes: [{ match: { pathSpecifier: oneOf('prefix', '') }, action: oneOf('directResponse', answer) }],
  })
}

function hostsOf(part: OutboundPart, shortName: boolean, portGoesWithoutSaying: boolean): string[] {
  const hosts = [...part.hosts, ...(shortName ? [part.shortHost] : [])]
  const withPort = hosts.map((host) => `${host}:${part.port}`)
  return [...new Set(portGoesWithoutSaying ? [...hosts, ...withPort] : withPort)].sort(compareText)
}

/** Adds a caller's retries to a virtual host that all callers share. */
export function withRetries(virtualHost: Uint8Array, policy: RetryPolicy): Uint8Array {
  return extend(VirtualHostSchema, virtualHost, { retryPolicy: retryPolicy(policy) })
}

/** A route configuration around virtual hosts. */
export function outboundRouteConfiguration(name: string, virtualHosts: readonly Uint8Array[]): Uint8Array {
  return routeConfiguration({ name }, virtualHosts)
}

/** The route configuration of one called service. A header of the workload that looks like the choice of a chain goes no further. */
export function serviceRouteConfiguration(name: string, virtualHosts: readonly Uint8Array[]): Uint8Array {
  return routeConfiguration({ name, requestHeadersToRemove: [SERVICE_HEADER] }, virtualHosts)
}

/** A route configuration whose virtual hosts are chosen by filter chains, see {@link SERVICE_HEADER}. */
export function chosenRouteConfiguration(name: string, virtualHosts: readonly Uint8Array[]): Uint8Array {
  return routeConfiguration(
    { name, vhostHeader: SERVICE_HEADER, requestHeadersToRemove: [SERVICE_HEADER] },
    virtualHosts,
  )
}

function routeConfiguration(
  fields: Init<typeof RouteConfigurationSchema>,
  virtualHosts: readonly Uint8Array[],
): Uint8Array {
  return appendTo(RouteConfigurationSchema, encode(RouteConfigurationSchema, fields), 'virtualHosts', virtualHosts)
}

/**
 * A route to weighted upstreams; where no target has weight, requests are answered 503.
 *
 * @param givenHost - present: only for requests that came without a host, which are given this one
 */
export function weightedRoute(
  route: OutboundRoute,
  breakers: BreakersByCluster = NO_BREAKERS,
  givenHost?: string,
): RouteInit {
  const { headers = [], ...matched } = routeMatch(route.match)
  return {
    match: { ...matched, headers: givenHost === undefined ? headers : [...headers, withoutHost()] },
    action: routeAction(route, breakers, givenHost),
    ...(leavesChangesToTargets(route) ? {} : headerChanges(route)),
  }
}

/** Envoy makes the changes of a weighted cluster before those of its route; a target has the last word. */
function leavesChangesToTargets({ targets }: OutboundRoute): boolean {
  return targets.some(
    ({ weight, requestHeaders, responseHeaders }) =>
      weight > 0 && (requestHeaders !== undefined || responseHeaders !== undefined),
  )
}

const notFoundCodes = { 500: NotFoundCode.INTERNAL_SERVER_ERROR, 503: NotFoundCode.SERVICE_UNAVAILABLE } as const

function routeAction(
  route: OutboundRoute,
  breakers: BreakersByCluster,
  givenHost: string | undefined,
): NonNullable<RouteInit['action']> {
  const { match, targets, timeoutMs, errorWeight = 0, errorStatus, redirect, rewrite, mirrors, retries } = route
  const passedOn = leavesChangesToTargets(route) ? route : {}
  if (redirect !== undefined) return { case: 'redirect', value: redirectAction(redirect, match) }
  const clusters = targets
    .filter(({ weight }) => weight > 0)
    .sort(compareTargets)
    .map((target) => weightedCluster({ ...target, ...changesOfBoth(passedOn, target) }, breakers))
  if (clusters.length === 0)
    return { case: 'directResponse', value: { status: errorWeight > 0 ? (errorStatus ?? 500) : 503 } }
  const failing =
    errorWeight > 0 ? [{ name: names.missingCluster, weight: errorWeight, ...headerChanges(passedOn) }] : []
  return {
    case: 'route',
    value: {
      clusterSpecifier: { case: 'weightedClusters', value: { clusters: [...clusters, ...failing] } },
      ...(errorWeight > 0 ? { clusterNotFoundResponseCode: notFoundCodes[errorStatus ?? 500] } : {}),
      timeout: duration(timeoutMs),
      ...(givenHost === undefined ? {} : { hostRewriteSpecifier: oneOf('hostRewriteLiteral', givenHost) }),
      ...rewriteFields(rewrite, match),
      requestMirrorPolicies: mirrorPolicies(mirrors),
      ...(retries === undefined ? {} : { retryPolicy: retryPolicy(retries) }),
      // Only clusters that balance by hash look at it.
      hashPolicy: [{ policySpecifier: { case: 'connectionProperties', value: { sourceIp: true } } }],
    },
  }
}

const compareTargets = compareBy<RouteTarget>((a, b) => compareText(a.upstream, b.upstream), compareCanonical)

function weightedCluster(
  target: RouteTarget,
  breakers: BreakersByCluster,
): Init<typeof WeightedCluster_ClusterWeightSchema> {
  const breaker = breakers.get(target.upstream)
  return {
    name: target.upstream,
    weight: target.weight,
    ...headerChanges(target),
    ...(breaker === undefined ? {} : { typedPerFilterConfig: breakerOfCluster(breaker.upstream, breaker.settings) }),
  }
}

function withoutHost(): HeaderMatcherInit {
  return headerValue(':authority', { type: 'exact', value: WITHOUT_HOST })
}

function retryPolicy(policy: RetryPolicy): Init<typeof RetryPolicySchema> {
  // Where conditions are words, Envoy wants single statuses apart.
  const statuses = policy.retryOn.filter((condition) => /^[1-5]\d\d$/.test(condition))
  const words = policy.retryOn.filter((condition) => !statuses.includes(condition))
  const conditions = new Set([...words, ...(statuses.length === 0 ? [] : ['retriable-status-codes'])])
  return {
    retryOn: [...conditions].sort().join(','),
    retriableStatusCodes: statuses.map(Number).sort((a, b) => a - b),
    numRetries: policy.numRetries,
    ...(policy.perTryTimeoutMs === undefined ? {} : { perTryTimeout: duration(policy.perTryTimeoutMs) }),
    ...(policy.backoffBaseIntervalMs === undefined
      ? {}
      : { retryBackOff: { baseInterval: duration(policy.backoffBaseIntervalMs) } }),
  }
}
