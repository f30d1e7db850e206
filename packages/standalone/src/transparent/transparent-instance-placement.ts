import type { MeshConfig, Snapshot, WorkloadPort } from '@osm-ts/core'
import { OsmError, type SidecarPatch } from '@osm-ts/driver-api'
import type { ListenAddresses } from '@osm-ts/driver-api/policy'
import { interceptionDefaults, type InterceptionOptions } from '@osm-ts/interception'

import type { StandaloneErrorCode } from '../errors.js'
import { MARK, type ProcessRegistry } from '../process/process-registry.js'
import type { HostEntry } from '../netns/etc-folder.js'
import type { MeshNetwork } from '../netns/mesh-network.js'
import type { WorkloadNetwork } from '../netns/workload-network.js'
import type { DesiredInstance } from '../workload/desired-instances.js'
import { exclusions } from '../workload/exclusions.js'
import {
  type ProgramCommand,
  type InstancePlacement,
  type SiteView,
  workloadPorts,
} from '../workload/instance-placement.js'
import { NamespaceRequests } from './namespace-requests.js'
import { OpenBinaries } from './open-binaries.js'

const ANY = '0.0.0.0'
const LOOPBACK = '127.0.0.1'
const METRICS_PORT = 15010

/** Where policies say that sidecars listen in transparent mode; the network is IPv4. */
const listen: ListenAddresses = Object.freeze({
  inbound: { address: ANY, port: interceptionDefaults.inboundListenerPort },
  outbound: { address: ANY, port: interceptionDefaults.outboundListenerPort },
  metrics: { address: ANY, port: METRICS_PORT },
  admin: { address: LOOPBACK, port: interceptionDefaults.adminPort },
})

/** User and group that programs of workloads run as. */
export interface ProgramUser {
  readonly uid: number
  readonly gid: number
}

/** What a transparent placement is made from. */
export interface TransparentInstancePlacementOptions {
  readonly desired: DesiredInstance
  readonly snapshot: Snapshot
  readonly network: MeshNetwork
  readonly config: MeshConfig
  readonly folder: string
  readonly sidecarUid: number
  /** Undefined: root, without rights over the network. */
  readonly user: ProgramUser | undefined
  readonly interpreter: string
  readonly processes: ProcessRegistry
  readonly stateFolder: string
  readonly hosts: () => readonly HostEntry[]
  /** Told when the instance has an address, and without one when it has left. */
  readonly onAddress: (address: string | undefined) => void
}

/** An instance in its own network namespace: what it sends and receives goes through its sidecar without its knowledge. */
export class TransparentInstancePlacement implements InstancePlacement {
  readonly mode = 'transparent'
  readonly interceptionMode = 'iptables'
  readonly host = ANY
  readonly listen = listen
  readonly controllerAddress: string
  readonly ports: readonly WorkloadPort[]
  readonly home: InstancePlacement['home']
  readonly #options: TransparentInstancePlacementOptions
  readonly #requests: NamespaceRequests
  readonly #binaries = new OpenBinaries()
  #network: WorkloadNetwork | undefined

  constructor(options: TransparentInstancePlacementOptions) {
    const { desired, snapshot, network, folder, sidecarUid, interpreter, processes, stateFolder } = options
    this.#options = options
    this.controllerAddress = network.hostAddress
    this.ports = workloadPorts(snapshot, desired.workload)
    this.home = { folder, uid: sidecarUid }
    this.#requests = new NamespaceRequests({
      // As root: the interpreter may lie where the sidecar's user does not get to.
      command: (argv) => this.#entered().command(argv),
      interpreter,
      processes,
      environment: { [MARK]: stateFolder },
    })
  }

  get request(): InstancePlacement['request'] {
    return this.#requests.request
  }

  get networkNamespace(): string {
    return this.#entered().path
  }

  async enter(patch: SidecarPatch | undefined, signal: AbortSignal): Promise<string> {
    const { desired, network, hosts, onAddress } = this.#options
    const joined = await network.addWorkload(
      { name: `${desired.namespace}.${desired.name}`, interception: this.#interception(patch), hosts: hosts() },
      signal,
    )
    this.#network = joined
    onAddress(joined.address)
    return joined.address
  }

  async refresh(): Promise<SiteView> {
    this.refreshHosts()
    return { allocations: undefined, variables: {}, problems: [] }
  }

  /** Looks at the names again. */
  refreshHosts(): void {
    this.#network?.setHosts(this.#options.hosts())
  }

  program(argv: readonly [string, ...string[]]): ProgramCommand {
    return this.#entered().command(argv, this.#options.user)
  }

  sidecar([binary, ...args]: readonly [string, ...string[]], uid: number): ProgramCommand {
    return this.#binaries.command([binary, ...args], (argv) => this.#entered().command(argv, { uid }))
  }

  async leave(): Promise<void> {
    this.#options.onAddress(undefined)
    await this.#requests.close()
    this.#binaries.close()
    await this.#network?.remove()
    this.#network = undefined
  }

  #interception(patch: SidecarPatch | undefined): InterceptionOptions | 'none' {
    if (patch === undefined) return 'none'
    const needs = patch.interception
    if (needs === undefined) {
      const code: StandaloneErrorCode = 'OSM_STANDALONE_PATCH'
      throw new OsmError(
        code,
        'the driver does not say how traffic reaches its sidecar; choose another sidecar class, or explicit mode',
      )
    }
    const { desired, config } = this.#options
    const lists = exclusions(config, desired.workload)
    return {
      proxyUid: needs.proxyUid,
      inboundListenerPort: needs.inboundPort,
      outboundListenerPort: needs.outboundPort,
      ...(patch.admin !== undefined && { adminPort: patch.admin.port }),
      proxyServicePorts: needs.excludedInboundPorts.filter((port) => port !== patch.admin?.port),
      inboundPortExclusions: lists.inboundPortExclusionList,
      outboundPortExclusions: lists.outboundPortExclusionList,
      outboundIpRangeExclusions: lists.outboundIPRangeExclusionList,
      outboundIpRangeInclusions: lists.outboundIPRangeInclusionList,
      interfaceExclusions: lists.networkInterfaceExclusionList,
      localProxyMode: config.sidecar.localProxyMode,
      ipv6: needs.ipv6 ? 'intercept' : 'refuse',
    }
  }

  #entered(): WorkloadNetwork {
    if (this.#network === undefined) throw new RangeError(`${this.#options.desired.key} has not joined the network`)
    return this.#network
  }
}
