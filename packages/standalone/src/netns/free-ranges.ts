import { overlap, parseIpv4Range, type Ipv4Range } from './ipv4-range.js'

/** The address ranges of a mesh network. Neither may overlap with what the machine already routes. */
export interface MeshNetworkRanges {
  /** Addresses of the workloads and, first of all, of the host. At least eight addresses. */
  readonly subnet: string
  /** Addresses of services. No one has them; sidecars take the connections to them. */
  readonly vipRange: string
}

/**
 * Ranges of which a mesh network takes the first that no one uses: first two corners of the private range 10.0.0.0/8, then, for machines
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
