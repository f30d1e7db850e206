import { ClusterError } from '../provider.js'

/** A machine of the cluster that runs pods. */
export interface NodePlan {
  readonly name: string
  readonly address: string
  /** The control plane's end of the link between the two: it is the router between all machines. */
  readonly gateway: string
  readonly pods: string
  /** In clusters with both families. */
  readonly ipv6?: Pick<NodePlan, 'address' | 'gateway' | 'pods'>
}

/** All addresses of a cluster. They are out of one range, which is routed as a whole and never to anywhere else. */
export interface AddressPlan {
  readonly range: string
  /** Of the API server. */
  readonly controlPlane: string
  /** Of this machine, on its link to the control plane. */
  readonly host: string
  readonly services: string
  /** The Service `kubernetes`. */
  readonly apiService: string
  readonly dnsService: string
  readonly pods: string
  readonly nodes: readonly NodePlan[]
  /** In clusters with both families. */
  readonly ipv6?: Pick<AddressPlan, 'range' | 'controlPlane' | 'host' | 'services' | 'pods'>
}

/** Families of the addresses that pods and services of a cluster have; the first is that of services which request none. */
export type IpFamily = 'ipv4' | 'dual'

/** Length of the prefix of the links between machines, two addresses each, by family. */
export const linkPrefix = { ipv4: 30, ipv6: 126 } as const

const firstBlock = 208
const blockCount = 40
const mostNodes = 60

/** The range of a block. */
function blockRange(block: number): string {
  return `10.${block}.0.0/16`
}

/** Of addresses that are routed nowhere beyond a site (RFC 4193), those of local clusters; the block follows. */
const ipv6Prefix = 'fd6f:736d'

/** The addresses of a cluster in one of the blocks. */
export function addressPlan(block: number, nodes: number, family: IpFamily = 'ipv4'): AddressPlan {
  if (nodes < 1 || nodes > mostNodes)
    throw new ClusterError(`a local cluster has 1 to ${mostNodes} nodes, not ${nodes}`)
  const at = (third: number, fourth: number): string => `10.${block}.${third}.${fourth}`
  return {
    range: blockRange(block),
    controlPlane: at(0, 1),
    host: at(0, 2),
    services: `${at(16, 0)}/20`,
    apiService: at(16, 1),
    dnsService: at(16, 10),
    pods: `${at(128, 0)}/17`,
    nodes: Array.from({ length: nodes }, (_, index) => ({
      name: `node-${index + 1}`,
      gateway: at(0, 4 * (index + 1) + 1),
      address: at(0, 4 * (index + 1) + 2),
      pods: `${at(128 + index, 0)}/24`,
      ...(family === 'dual' ? { ipv6: nodeIpv6(block, index) } : {}),
    })),
    ...(family === 'dual' ? { ipv6: clusterIpv6(block) } : {}),
  }
}

/** Subnets 0 and 1 are those of links and services, those from 8000 on belong to the pods of one node each. */
function clusterIpv6(block: number): NonNullable<AddressPlan['ipv6']> {
  const site = `${ipv6Prefix}:${block.toString(16)}`
  return {
    range: `${site}::/48`,
    controlPlane: `${site}::1`,
    host: `${site}::2`,
    // The API server takes no larger range.
    services: `${site}:1::/108`,
    pods: `${site}:8000::/56`,
  }
}

function nodeIpv6(block: number, index: number): NonNullable<NodePlan['ipv6']> {
  const site = `${ipv6Prefix}:${block.toString(16)}`
  const first = 4 * (index + 1)
  return {
    gateway: `${site}::${(first + 1).toString(16)}`,
    address: `${site}::${(first + 2).toString(16)}`,
    pods: `${site}:${(0x8000 + index).toString(16)}::/64`,
  }
}

/** Both families as Kubernetes takes them. */
export function ofFamilies(ipv4: string, ipv6: string | undefined): string {
  return ipv6 === undefined ? ipv4 : `${ipv4},${ipv6}`
}

/** The first block that shares no address with routes of this machine and that no other cluster has. */
export function chooseBlock(destinations: readonly string[], taken: readonly number[]): number {
  const blocks = Array.from({ length: blockCount }, (_, index) => firstBlock + index)
  const free = blocks.find((block) => !taken.includes(block) && !destinations.some((route) => touches(route, block)))
  if (free !== undefined) return free
  const last = firstBlock + blockCount - 1
  throw new ClusterError(
    `no addresses are left for a cluster: ${blockRange(firstBlock)} to ${blockRange(last)} are in use`,
  )
}

/** True if a route leads to some address of a block. A default route is no claim. */
function touches(destination: string, block: number): boolean {
  const [address = '', prefix = '32'] = destination.split('/')
  const [first, second] = address.split('.').map(Number)
  const length = Number(prefix)
  if (destination === 'default' || length === 0 || first === undefined || Number.isNaN(first)) return false
  const blocks = 2 ** Math.max(0, 16 - length)
  const start = (first * 256 + (second ?? 0)) & ~(blocks - 1)
  const wanted = 10 * 256 + block
  return wanted >= start && wanted < start + blocks
}
