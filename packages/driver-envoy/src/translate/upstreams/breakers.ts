import type {
  OutboundPart,
  PartRef,
  PartInSet,
  StatisticalCircuitBreaker,
  UpstreamPart,
  WeightedUpstream,
} from '@osm-ts/driver-api/policy'

import { names } from '../encoding/names.js'
import type { PolicyReader, ReplicaPolicy } from '../policy-reader.js'
import type { Tunnel } from '../egress/egress-gateway-routes.js'

/** A breaker, and where it comes from. */
export interface Breaker {
  /** Id of the upstream whose answers it counts. */
  readonly upstream: string
  readonly settings: StatisticalCircuitBreaker
  readonly source: PartRef
}

/** Breakers by name of the cluster that they are for. */
export type BreakersByCluster = ReadonlyMap<string, Breaker>

/** The statistical breakers of what a proxy calls. */
export interface Breakers {
  /** Pins everything below; empty for proxies without breakers. */
  readonly key: string
  readonly byCluster: BreakersByCluster
}

/** No breakers. */
export const NO_BREAKERS: BreakersByCluster = new Map()

/** Reads the statistical breakers of what a proxy calls. */
export function breakersOf({ upstreams }: ReplicaPolicy, reader: PolicyReader): Breakers {
  const byCluster = new Map(reader.members(upstreams, 'upstream').list.flatMap(breakerOf))
  return { key: keyOf(byCluster), byCluster }
}

function breakerOf({ part, ref }: PartInSet<UpstreamPart>): readonly (readonly [string, Breaker])[] {
  return part.circuitBreaker === undefined
    ? []
    : [[part.id, { upstream: part.id, settings: part.circuitBreaker, source: ref }]]
}

/** The breakers of clusters that lead through a tunnel. */
export function breakersBehind(breakers: BreakersByCluster, tunnel: Tunnel): BreakersByCluster {
  return new Map([...breakers].map(([cluster, breaker]) => [names.tunnelledCluster(cluster, tunnel.name), breaker]))
}

/** The breakers of what routes lead to, without those of anything else; sorted by cluster. */
export function breakersOfRoutes(
  routes: readonly { readonly targets: readonly WeightedUpstream[] }[],
  breakers: BreakersByCluster,
): BreakersByCluster {
  if (breakers.size === 0) return NO_BREAKERS
  const called = new Set(routes.flatMap(({ targets }) => targets.map(({ upstream }) => upstream)))
  return new Map([...breakers].filter(([cluster]) => called.has(cluster)))
}

/** The breakers of what a called service leads to; only requests have any. */
export function breakersOfOutbound({ rules }: OutboundPart, breakers: BreakersByCluster): BreakersByCluster {
  return rules.kind === 'http' ? breakersOfRoutes(rules.routes, breakers) : NO_BREAKERS
}

/** Pins breakers. */
export function keyOf(breakers: BreakersByCluster): string {
  if (breakers.size === 0) return ''
  return JSON.stringify([...breakers.values()].map(({ upstream, settings }) => [upstream, settings]))
}
