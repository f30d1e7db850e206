import { OsmError } from '@osm-ts/driver-api'
import { AddressPool } from './address-pool.js'
import type { NetnsErrorCode } from '../errors.js'
import { chooseFreeRanges, type MeshNetworkRanges } from './free-ranges.js'
import { formatIpv4Range, overlap, parseIpv4Range, sizeOf, type Ipv4Range } from './ipv4-range.js'
import { maxNetworksPerProcess, meshNames, routeProtocol, workloadNamespace, type MeshNames } from './mesh-names.js'
import { findOwner, ownerMetric, type Owner } from './owner.js'
import { listByIp, runIpBatch, runTool } from './run-tool.js'
import { withSetupLock } from './setup-lock.js'
import { findTraces, removeTraces } from './traces.js'
import { attachWorkload, WorkloadNetwork, type WorkloadNetworkOptions } from './workload-network.js'

const workloadName = /^[a-z0-9]([-a-z0-9.]{0,198}[a-z0-9])?$/

interface Plan {
  readonly owner: Owner
  readonly names: MeshNames
  readonly subnet: Ipv4Range
  readonly vipRange: Ipv4Range
}

/**
 * Builds the network of one mesh run, with no workloads yet.
 *
 * The bridge lies in its own network namespace, joined to the host by one pair of interfaces: firewall rules of the host for bridged
 * packets, which container engines like to set, don't apply to it. On the host, a blackhole route catches what is sent to service
 * addresses past a sidecar.
 *
 * @param ranges those to use; 'free' takes the first candidates that this machine does not route
 * @throws OsmError with a code of netnsErrorCodes; nothing is left behind then
 */
export async function createMeshNetwork(ranges: MeshNetworkRanges | 'free', signal: AbortSignal): Promise<MeshNetwork> {
  const owner = findOwner(process.pid)
  if (owner === undefined) throw netnsError('OSM_NETNS_UNSUPPORTED', 'transparent mode needs Linux with /proc')
  const wanted = ranges === 'free' ? 'free' : parseRanges(ranges)
  return withSetupLock(async () => {
    const routed = await routedRanges(signal)
    if (wanted !== 'free') requireUnrouted([wanted.subnet, wanted.vipRange], routed)
    const free = wanted === 'free' ? parseRanges(requireFreeRanges(routed)) : wanted
    const plan: Plan = { owner, ...free, names: await reserveNames(owner, signal) }
    const network = new MeshNetwork(plan)
    try {
      await connectHost(plan, network.hostAddress, signal)
      return network
    } catch (error) {
      // The first error tells more than what follows from it; what can't be removed now is left to a sweep.
      await network.destroy().catch(() => undefined)
      throw error
    }
  }, signal)
}

/** The network of one mesh run. It stays until it is destroyed; what a crash leaves is found by {@link sweepMeshNetworks}. */
export class MeshNetwork {
  /** Where workloads reach the host, and with it the controller. */
  readonly hostAddress: string
  /** Network interface of the host. */
  readonly hostLink: string
  readonly subnet: string
  readonly vipRange: string
  readonly #plan: Plan
  readonly #addresses: AddressPool
  readonly #workloads = new Map<string, string>()
  readonly #pending = new Set<Promise<unknown>>()
  readonly #closing = new AbortController()
  #ports = 0

  constructor(plan: Plan) {
    this.#plan = plan
    this.#addresses = new AddressPool(plan.subnet)
    this.hostAddress = this.#addresses.hostAddress
    this.hostLink = plan.names.hostLink
    this.subnet = formatIpv4Range(plan.subnet)
    this.vipRange = formatIpv4Range(plan.vipRange)
  }

  /** Joins a workload. Several may be joined at the same time. */
  async addWorkload(options: WorkloadNetworkOptions, signal: AbortSignal): Promise<WorkloadNetwork> {
    this.#closing.signal.throwIfAborted()
    const { name } = options
    if (!workloadName.test(name)) {
      throw netnsError(
        'OSM_NETNS_INVALID',
        `${JSON.stringify(name)} can't name a workload; use lower-case letters, digits, hyphens and dots`,
      )
    }
    if (this.#workloads.has(name))
      throw netnsError('OSM_NETNS_INVALID', `there is a workload ${name} in this network already`)
    const address = this.#addresses.take()
    if (address === undefined)
      throw netnsError('OSM_NETNS_EXHAUSTED', `all addresses of ${this.subnet} are taken; use a larger subnet`)
    this.#workloads.set(name, address)
    return this.#tracked(this.#attach(options, address, AbortSignal.any([signal, this.#closing.signal])))
  }

  /** Ends all processes in the network and removes everything of it from the host. May be called again, after a failure too. */
  async destroy(): Promise<void> {
    this.#closing.abort(netnsError('OSM_NETNS_CLOSED', 'the mesh network is closed'))
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending)
    const { owner, names } = this.#plan
    const metric = ownerMetric(owner)
    const traces = await findTraces()
    await removeTraces(
      traces.filter((trace) =>
        trace.kind === 'route'
          ? trace.metric === metric && trace.range === this.vipRange
          : trace.names.hostLink === names.hostLink,
      ),
    )
  }

  async #attach(options: WorkloadNetworkOptions, address: string, signal: AbortSignal): Promise<WorkloadNetwork> {
    const { names, subnet } = this.#plan
    const attachment = {
      namespace: workloadNamespace(names, options.name),
      switchNamespace: names.switchNamespace,
      port: `port${String(this.#ports++)}`,
      address,
      subnetPrefix: subnet.prefix,
      hostAddress: this.hostAddress,
      vipRange: this.vipRange,
    }
    const detach = async (): Promise<void> => this.#tracked(this.#remove(options.name, attachment.namespace))
    try {
      const warnings = await attachWorkload(options, attachment, signal)
      signal.throwIfAborted()
      return new WorkloadNetwork({ name: options.name, attachment, warnings, detach })
    } catch (error) {
      // The first error tells more than what follows from it; what can't be removed now is tried again by destroy.
      await this.#remove(options.name, attachment.namespace).catch(() => undefined)
      throw error
    }
  }

  async #remove(name: string, namespace: string): Promise<void> {
    const traces = await findTraces()
    await removeTraces(
      traces.filter((trace) => (trace.kind === 'namespace' || trace.kind === 'folder') && trace.name === namespace),
    )
    const address = this.#workloads.get(name)
    if (address !== undefined && this.#workloads.delete(name)) this.#addresses.release(address)
  }

  async #tracked<T>(work: Promise<T>): Promise<T> {
    this.#pending.add(work)
    try {
      return await work
    } finally {
      this.#pending.delete(work)
    }
  }
}

/** Takes the first free number: making the namespace is what decides between networks that are built at the same time. */
async function reserveNames(owner: Owner, signal: AbortSignal): Promise<MeshNames> {
  for (let number = 0; number < maxNetworksPerProcess; number += 1) {
    const names = meshNames(owner, number)
    try {
      await runTool('ip', ['netns', 'add', names.switchNamespace], { signal })
      return names
    } catch (error) {
      if (!(error instanceof OsmError) || !error.message.includes('File exists')) throw error
    }
  }
  throw netnsError('OSM_NETNS_EXHAUSTED', `this process has ${String(maxNetworksPerProcess)} mesh networks already`)
}

async function connectHost(
  { owner, names, subnet, vipRange }: Plan,
  hostAddress: string,
  signal: AbortSignal,
): Promise<void> {
  const { hostLink, switchNamespace } = names
  await runIpBatch(
    [
      `link add ${hostLink} type veth peer name host netns ${switchNamespace}`,
      `link set ${hostLink} addrgenmode none`,
      `address add ${hostAddress}/${String(subnet.prefix)} dev ${hostLink}`,
      `link set ${hostLink} up`,
      `route add blackhole ${formatIpv4Range(vipRange)} proto ${routeProtocol} metric ${String(ownerMetric(owner))}`,
    ],
    undefined,
    signal,
  )
  await runIpBatch(
    [
      'link add bridge type bridge',
      'link set bridge addrgenmode none',
      'link set host addrgenmode none',
      'link set host master bridge',
      'link set host up',
      'link set bridge up',
    ],
    switchNamespace,
    signal,
  )
}

function usableRange(field: string, text: string, minimumSize: number): Ipv4Range {
  const range = parseIpv4Range(text)
  if (range !== undefined && sizeOf(range) >= minimumSize && range.prefix > 0) return range
  const message = `${field} ${JSON.stringify(text)} is not an IPv4 range of at least ${String(minimumSize)} addresses such as 10.189.1.0/24`
  throw netnsError('OSM_NETNS_INVALID', message)
}

function parseRanges(ranges: MeshNetworkRanges): Pick<Plan, 'subnet' | 'vipRange'> {
  const subnet = usableRange('subnet', ranges.subnet, 8)
  const vipRange = usableRange('vipRange', ranges.vipRange, 1)
  if (overlap(subnet, vipRange))
    throw netnsError('OSM_NETNS_INVALID', `subnet ${ranges.subnet} and vipRange ${ranges.vipRange} overlap`)
  return { subnet, vipRange }
}

function requireFreeRanges(routed: readonly Ipv4Range[]): MeshNetworkRanges {
  const ranges = chooseFreeRanges(routed)
  if (ranges !== undefined) return ranges
  throw netnsError(
    'OSM_NETNS_RANGE_IN_USE',
    'no free address range was found: this machine routes all of 10.189.0.0/16 and 198.18.0.0/16',
  )
}

function requireUnrouted(ranges: readonly Ipv4Range[], routed: readonly Ipv4Range[]): void {
  for (const range of ranges) {
    const taken = routed.find((other) => overlap(range, other))
    if (taken === undefined) continue
    const message = `${formatIpv4Range(range)} overlaps with ${formatIpv4Range(taken)}, which this machine routes already; choose another range`
    throw netnsError('OSM_NETNS_RANGE_IN_USE', message)
  }
}

/** Every range that the host has a route for, default routes left out. */
async function routedRanges(signal: AbortSignal): Promise<readonly Ipv4Range[]> {
  const routes = await listByIp(['-4', 'route', 'show', 'table', 'all'], signal)
  return routes.flatMap(({ dst }) => parseIpv4Range(String(dst)) ?? []).filter((range) => range.prefix > 0)
}

function netnsError(code: NetnsErrorCode, message: string): OsmError<NetnsErrorCode> {
  return new OsmError(code, message)
}
