import {
  type EgressPart,
  type PartRef,
  refOf,
  type UpstreamPart,
  type WeightedUpstream,
} from '@osm-ts/driver-api/policy'

import { authority } from '../encoding/address.js'
import { names } from '../encoding/names.js'
import type { PolicyReader, ReplicaPolicy } from '../policy-reader.js'
import { positiveWeights } from '../routing/weights.js'

/** Connections to gateways, which one internal listener makes. */
export interface Tunnel {
  /** Name of the listener. */
  readonly name: string
  /** Clusters of the gateways. Empty: nothing leaves this way. */
  readonly targets: readonly WeightedUpstream[]
}

/** What a gateway is told to connect to. */
export type Destination =
  /** A host and port. */
  | { readonly kind: 'fixed'; readonly authority: string }
  /** The address that the workload dialled. */
  | { readonly kind: 'dialled' }
  /** The host that a request, or a TLS handshake, names. */
  | { readonly kind: 'named'; readonly port: number }

/** How traffic to a destination outside the mesh leaves through gateways. */
export interface WayOut {
  readonly tunnel: Tunnel
  /** By route, in the order of the egress part; one for a part without routes. Undefined: not to be told, so that nothing leaves. */
  readonly destinations: readonly (Destination | undefined)[]
}

/** How a proxy's traffic leaves the mesh through gateways. */
export interface EgressGatewayRoutes {
  /** Pins everything below; empty for proxies without gateways. */
  readonly key: string
  /** By id of the egress part. */
  readonly byPart: ReadonlyMap<string, WayOut>
  /** Way of what no egress part is about. */
  readonly others: Tunnel | undefined
  /** Tunnels by name. */
  readonly tunnels: ReadonlyMap<string, Tunnel>
  /** The part that says so. */
  readonly sources: readonly PartRef[]
}

const NO_WAYS: EgressGatewayRoutes = { key: '', byPart: new Map(), others: undefined, tunnels: new Map(), sources: [] }

/** Stands for every destination without gateways of its own. */
const OTHERS = '*'

/** Reads which destinations a proxy reaches through gateways. */
export function egressGatewayRoutesOf(proxy: ReplicaPolicy, reader: PolicyReader): EgressGatewayRoutes {
  if (proxy.clientRules === undefined) return NO_WAYS
  const rules = reader.part(proxy.clientRules, 'clientRules')
  if (rules.gateways.length === 0) return NO_WAYS
  const tunnelOf = new Map(
    rules.gateways.map(({ egress, mode, targets }): [string, Tunnel] => {
      // The host does not request what is not declared. If it did, nothing must leave past the gateways.
      const usable = mode === 'http2tunnel' ? targets.filter(({ weight }) => weight > 0) : []
      return [egress, { name: names.tunnel(positiveWeights(usable)), targets: usable }]
    }),
  )
  const others = tunnelOf.get(OTHERS)
  const upstreams = new Map(reader.members(proxy.upstreams, 'upstream').list.map(({ part }) => [part.id, part]))
  const byPart = new Map(
    reader.members(proxy.egress, 'egress').list.flatMap(({ part }): readonly [string, WayOut][] => {
      const tunnel = tunnelOf.get(part.id) ?? others
      if (tunnel === undefined) return []
      const lists = part.protocol === 'http' ? part.routes.map(({ targets }) => targets) : [part.targets]
      return [[part.id, { tunnel, destinations: lists.map((targets) => commonDestination(targets, upstreams)) }]]
    }),
  )
  const inUse = [...[...byPart.values()].map(({ tunnel }) => tunnel), ...(others === undefined ? [] : [others])]
  return {
    key: JSON.stringify([[...byPart], others]),
    byPart,
    others,
    tunnels: new Map(inUse.map((tunnel) => [tunnel.name, tunnel])),
    sources: [refOf(rules, proxy.clientRules)],
  }
}

/** A part as it is with its upstreams behind gateways. */
export function throughGateways(part: EgressPart, way: WayOut | undefined): EgressPart {
  if (way === undefined) return part
  const behind = (targets: readonly WeightedUpstream[], index: number): readonly WeightedUpstream[] =>
    way.destinations[index] === undefined
      ? []
      : targets.map(({ upstream, weight }) => ({ upstream: names.tunnelledCluster(upstream, way.tunnel.name), weight }))
  return {
    ...part,
    routes: part.routes.map((route, index) => ({ ...route, targets: behind(route.targets, index) })),
    targets: behind(part.targets, 0),
  }
}

/** Where all upstreams lead, as the gateway must be told before one of them is chosen. */
function commonDestination(
  targets: readonly WeightedUpstream[],
  upstreams: ReadonlyMap<string, UpstreamPart>,
): Destination | undefined {
  const [first, ...others] = targets.map(({ upstream }) => {
    const part = upstreams.get(upstream)
    return part && destinationOf(part)
  })
  return others.every((other) => JSON.stringify(other) === JSON.stringify(first)) ? first : undefined
}

function destinationOf({ discovery, port }: UpstreamPart): Destination | undefined {
  switch (discovery.kind) {
    case 'dns':
      return { kind: 'fixed', authority: authority(discovery) }
    case 'static': {
      const [only, ...more] = discovery.addresses
      if (only === undefined || more.length > 0) return undefined
      return { kind: 'fixed', authority: authority({ host: only.address, port: only.port }) }
    }
    case 'originalDestination':
      return { kind: 'dialled' }
    case 'forwardProxy':
      return { kind: 'named', port }
    case 'endpoints':
      return undefined
  }
}
