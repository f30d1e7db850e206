import { OsmError } from '@osm-ts/driver-api'
import { overlap, parseIpv4Range, type Ipv4Range } from './ipv4-range.js'
import { routedRanges, type MeshNetworkRanges } from './mesh-network.js'

/**
 * Ranges of which a mesh network takes the first that nobody uses: first two corners of the private range 10.0.0.0/8, then, for machines
 * whose own network is all of that, the range that is set aside for measuring network devices.
 */
const candidates: readonly MeshNetworkRanges[] = [
  ...Array.from({ length: 256 }, (_, third) => ({ subnet: `10.189.${third}.0/24`, vipRange: `10.190.${third}.0/24` })),
  ...Array.from({ length: 256 }, (_, third) => ({ subnet: `198.18.${third}.0/24`, vipRange: `198.19.${third}.0/24` })),
]

/** The first pair of candidate ranges that shares no address with what is routed. */
export function chooseFreeRanges(routed: readonly Ipv4Range[]): MeshNetworkRanges | undefined {
  const isFree = (text: string): boolean => {
    const range = parseIpv4Range(text)
    return range !== undefined && !routed.some((other) => overlap(range, other))
  }
  return candidates.find(({ subnet, vipRange }) => isFree(subnet) && isFree(vipRange))
}

/**
 * Ranges for a mesh network that this machine does not use. Another process may take them in between; createMeshNetwork then says so by
 * OSM_NETNS_RANGE_IN_USE, and the caller asks again.
 */
export async function findFreeRanges(signal: AbortSignal): Promise<MeshNetworkRanges> {
  const ranges = chooseFreeRanges(await routedRanges(signal))
  if (ranges !== undefined) return ranges
  throw new OsmError(
    'OSM_NETNS_RANGE_IN_USE',
    'no free address range was found: this machine routes all of 10.189.0.0/16 and 198.18.0.0/16',
  )
}
