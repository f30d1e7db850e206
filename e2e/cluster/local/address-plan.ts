import { ClusterError } from '../provider.js'

/** A machine of the cluster that runs pods. */
export interface NodePlan {
  readonly name: string
  readonly address: string
  /** The control plane's end of the link between the two: it is the router between all machines. */
  readonly gateway: string
  readonly pods: string
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
}

/** Length of the prefix of the links between machines: two addresses each. */
export const linkPrefix = 30

const firstBlock = 208
const blockCount = 40
const mostNodes = 60

/** The range of a block. */
function blockRange(block: number): string {
  return `10.${block}.0.0/16`
}

/** The addresses of a cluster in one of the blocks. */
export function addressPlan(block: number, nodes: number): AddressPlan {
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
    })),
  }
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
