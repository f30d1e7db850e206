import type { ClientGateway, ClientRulesPart } from '@osm-ts/driver-api/policy'

import type { WayOut } from '../config/types.js'
import { sharesOf } from './shares.js'

/** How a proxy's traffic leaves the mesh through gateways. */
export interface EgressGatewayRoutes {
  /** By name; equal gateways are one way, so that what takes turns among them does so together. */
  readonly ways: Readonly<Record<string, WayOut>>
  /** Name of the way of an egress part; undefined for what leaves directly. */
  readonly of: (egress: string) => string | undefined
  /** Name of the way of what no egress part is about. */
  readonly others: string | undefined
}

/** Stands for every destination without gateways of its own. */
const OTHERS = '*'

/** Reads which destinations a proxy reaches through gateways, and through which. */
export function egressGatewayRoutes(rules: ClientRulesPart | undefined): EgressGatewayRoutes {
  const gateways = rules?.gateways ?? []
  const names = new Map(gateways.map((gateway) => [gateway.egress, nameOf(gateway)]))
  const others = names.get(OTHERS)
  return {
    ways: Object.fromEntries(
      gateways.map((gateway) => [nameOf(gateway), { mode: gateway.mode, shares: sharesOf(gateway.targets) }]),
    ),
    of: (egress) => names.get(egress) ?? others,
    others,
  }
}

function nameOf({ mode, targets }: ClientGateway): string {
  const shares = sharesOf(targets).map(({ upstream, weight }) => `${upstream}=${weight}`)
  return `${mode}|${shares.join(',') || 'none'}`
}
