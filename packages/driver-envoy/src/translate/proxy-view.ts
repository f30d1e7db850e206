import type { OutboundPart } from '@osm-ts/driver-api/policy'

import type { Breakers } from './upstreams/breakers.js'
import type { PolicyReader, ReplicaPolicy, Served, ServedOutside } from './policy-reader.js'
import type { Settings } from './settings.js'
import type { SharedChains } from './outbound/shared-chains.js'
import type { PlaintextUpstreams } from './upstreams/plaintext.js'
import type { EgressGatewayRoutes } from './egress/egress-gateway-routes.js'

/** Marks of withdrawn access by id of the inbound part; a chain whose mark changes is drained. */
export type DrainEpochs = ReadonlyMap<string, string>

/** A proxy's policy as the translation of one revision sees it. */
export interface ProxyView {
  readonly proxy: ReplicaPolicy
  readonly reader: PolicyReader
  readonly settings: Settings
  /** Sorted by id. */
  readonly served: readonly Served[]
  /** Sorted by id. */
  readonly servedOutside: readonly ServedOutside[]
  readonly egressGatewayRoutes: EgressGatewayRoutes
  readonly breakers: Breakers
  readonly plaintext: PlaintextUpstreams
  readonly sharedChains: SharedChains
  readonly drainEpochs: DrainEpochs
  /** Services that the policy no longer has, and that connections may still be open to; sorted by id. */
  readonly retired: readonly OutboundPart[]
}
