import { isIP, isIPv6, type Server } from 'node:net'
import { join } from 'node:path'

import { type ServiceNames, transparentListenAddresses } from '@osm-ts/core'
import { isOsmError, type MeshConfigView, OsmError, type SidecarPatch } from '@osm-ts/driver-api'
import { InterceptionError, type InterceptionOptions, interceptionRules, listLimits } from '@osm-ts/interception'

import type { StandaloneErrorCode } from '../../errors.js'
import { SIDECAR_UID } from '../../mesh-constants.js'
import { networkObstacles } from '../../netns/obstacles.js'
import { runTool } from '../../netns/run-tool.js'
import { serviceAliases } from '../../transparent/host-names.js'
import { OpenBinaries } from '../../transparent/open-binaries.js'
import { createSidecarRunDirectory } from '../../transparent/sidecar-run-directory.js'
import type { ProgramCommand } from '../../workload/instance-placement.js'
import type { FileTarget } from '../../workload/sidecar-files.js'
import type { JoinErrorCode } from '../errors.js'
import type { MachinePlace, SidecarReach } from '../machine-place.js'
import type { MachineState, Membership } from '../machine-state.js'
import { HostsFile } from './hosts-file.js'
import { applyRules } from './machine-rules.js'
import { HOSTS, lockNetwork, removeTraces, unlockNetwork } from './machine-traces.js'
import { nameserversIn, RESOLVER_FILES } from './nameservers.js'

/** What connections of a machine are redirected, beside what MeshConfig says. */
export interface MachineInterception {
  /** User of the sidecar, whose connections bypass it; a user and group of no one if absent. */
  readonly sidecarUid?: number
  readonly outboundPortExclusions: readonly number[]
  readonly outboundIpRangeExclusions: readonly string[]
  /** When not empty, connections to all other destinations bypass the sidecar. */
  readonly outboundIpRangeInclusions: readonly string[]
}

const programs = [
  { file: 'getent', package: 'libc-bin' },
  { file: 'iptables-save', package: 'iptables' },
  { file: 'iptables-restore', package: 'iptables' },
  { file: 'ip6tables-save', package: 'iptables' },
  { file: 'ip6tables-restore', package: 'iptables' },
  { file: 'setpriv', package: 'util-linux' },
] as const

/** Names are one word of a line each, from any control plane. */
const HOST_NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/

/** Rules of iptables lead the connections of the machine to its sidecar, which runs as a user of its own. */
export class TransparentPlace implements MachinePlace {
  readonly mode = 'transparent'
  readonly home: FileTarget
  readonly #state: MachineState
  readonly #interception: MachineInterception
  readonly #uid: number
  readonly #gidBefore: number
  readonly #lock: Server
  readonly #binaries = new OpenBinaries()
  readonly #hosts = new HostsFile(HOSTS)
  #namesDigest = ''

  private constructor(state: MachineState, interception: MachineInterception, lock: Server) {
    const { sidecarUid = SIDECAR_UID } = interception
    this.#state = state
    this.#interception = interception
    this.#uid = sidecarUid
    this.#lock = lock
    this.#gidBefore = process.getegid?.() ?? 0
    this.home = { folder: join(createSidecarRunDirectory(state.folder), 'sidecar'), uid: sidecarUid }
    // The rules let this group bypass the sidecar: this process reports to the control plane itself. Rules of a run that was killed do as well.
    process.setegid?.(sidecarUid)
  }

  /**
   * Finds out whether connections can be redirected here, before anything is changed or a token is used.
   *
   * @throws OsmError with code `OSM_JOIN_TRANSPARENT` or `OSM_JOIN_RUNNING`
   */
  static async open(
    state: MachineState,
    interception: MachineInterception,
    signal: AbortSignal,
  ): Promise<TransparentPlace> {
    const obstacles = await networkObstacles(programs, signal)
    if (obstacles.length > 0) throw failure(`connections cannot be redirected here: ${obstacles.join('; ')}`)
    if (interception.sidecarUid === undefined) await refuseAccount(SIDECAR_UID, signal)
    checkRules({ ...rulesOf(interception), proxyUid: interception.sidecarUid ?? SIDECAR_UID })
    const lock = await lockNetwork()
    if (lock === undefined)
      throw new OsmError<JoinErrorCode>(
        'OSM_JOIN_RUNNING',
        'another osm machine join redirects the connections of this machine; stop it first',
      )
    try {
      // Rules of a run that was killed let another group bypass the sidecar if the user was another one.
      if (state.traces !== undefined && state.traces.uid !== (interception.sidecarUid ?? SIDECAR_UID))
        await removeTraces(state)
      return new TransparentPlace(state, interception, lock)
    } catch (error) {
      await unlockNetwork(lock)
      throw error
    }
  }

  get namesDigest(): string {
    return this.#namesDigest
  }

  reach({ address, sidecar: { exclusions } }: Membership): SidecarReach {
    const { outboundPortExclusions, outboundIpRangeExclusions, outboundIpRangeInclusions } = this.#interception
    return {
      interceptionMode: 'iptables',
      listen: transparentListenAddresses([isIPv6(address) ? 'IPv6' : 'IPv4'], false),
      inboundPortExclusionList: exclusions?.inboundPorts ?? [],
      outboundPortExclusionList: [...(exclusions?.outboundPorts ?? []), ...outboundPortExclusions],
      outboundIPRangeExclusionList: [...(exclusions?.outboundIpRanges ?? []), ...outboundIpRangeExclusions],
      outboundIPRangeInclusionList: [...(exclusions?.onlyOutboundIpRanges ?? []), ...outboundIpRangeInclusions],
      networkInterfaceExclusionList: exclusions?.interfaces ?? [],
    }
  }

  async enter(patch: SidecarPatch, membership: Membership, signal: AbortSignal): Promise<void> {
    const { interception: needs, admin } = patch
    if (needs === undefined)
      throw new OsmError<StandaloneErrorCode>(
        'OSM_STANDALONE_PATCH',
        `the driver of class ${membership.sidecar.sidecarClass} does not say how traffic reaches its sidecar; choose another class, or join without --transparent`,
      )
    const reach = this.reach(membership)
    // The control plane of the same mesh has written it.
    const { sidecar } = membership.sidecar.configurator as MeshConfigView
    const options: InterceptionOptions = {
      ...rulesOf({
        outboundPortExclusions: reach.outboundPortExclusionList,
        outboundIpRangeExclusions: reach.outboundIPRangeExclusionList,
        outboundIpRangeInclusions: reach.outboundIPRangeInclusionList,
      }),
      proxyUid: this.#uid,
      bypassGid: this.#uid,
      inboundListenerPort: needs.inboundPort,
      outboundListenerPort: needs.outboundPort,
      ...(admin !== undefined && { adminPort: admin.port }),
      proxyServicePorts: needs.excludedInboundPorts.filter((port) => port !== admin?.port),
      // Other ports of a machine, such as that of SSH, are no business of the mesh.
      inboundPortInclusions: membership.ports.flatMap(({ port, localPort }) => [port, localPort]),
      inboundPortExclusions: reach.inboundPortExclusionList,
      interfaceExclusions: reach.networkInterfaceExclusionList,
      localProxyMode: sidecar.localProxyMode,
      podAddresses: [membership.address],
      nameservers: nameserversIn(RESOLVER_FILES).slice(0, listLimits.nameservers),
      ipv6: needs.ipv6 ? 'intercept' : 'refuse',
    }
    checkRules(options)
    this.#state.traces = { uid: this.#uid }
    await applyRules(options, signal)
  }

  sidecar(argv: readonly [string, ...string[]]): ProgramCommand {
    const user = ['--reuid', String(this.#uid), '--regid', String(this.#uid), '--clear-groups']
    const rights = ['--inh-caps', '-all', '--bounding-set', '-all', '--no-new-privs']
    return this.#binaries.command(argv, (words) => ({ file: 'setpriv', args: [...user, ...rights, '--', ...words] }))
  }

  setNames({ digest, clusterDomain, services }: ServiceNames): void {
    // A file that cannot be written is not tried again before the names change.
    this.#namesDigest = digest
    this.#hosts.replace(
      services.flatMap(({ addresses, ...service }) => {
        const names = serviceAliases(service, clusterDomain, false)
        const isWritable = names.every((name) => HOST_NAME.test(name))
        return isWritable ? addresses.filter(isAddress).map((address) => ({ address, names })) : []
      }),
    )
  }

  async leave(): Promise<void> {
    try {
      await removeTraces(this.#state)
    } finally {
      this.#binaries.close()
      process.setegid?.(this.#gidBefore)
      await unlockNetwork(this.#lock)
    }
  }
}

function isAddress(text: string): boolean {
  return isIP(text) !== 0
}

function rulesOf(
  lists: Pick<
    MachineInterception,
    'outboundPortExclusions' | 'outboundIpRangeExclusions' | 'outboundIpRangeInclusions'
  >,
): InterceptionOptions {
  const { outboundPortExclusions, outboundIpRangeExclusions, outboundIpRangeInclusions } = lists
  return { outboundPortExclusions, outboundIpRangeExclusions, outboundIpRangeInclusions }
}

function checkRules(options: InterceptionOptions): void {
  try {
    interceptionRules(options)
  } catch (error) {
    if (!(error instanceof InterceptionError)) throw error
    throw failure(`the options and MeshConfig together are not rules of interception: ${error.message}`, error)
  }
}

/** Connections of a person who has the id would bypass the sidecar, and the person could read its key. */
async function refuseAccount(id: number, signal: AbortSignal): Promise<void> {
  for (const [database, what] of [
    ['passwd', 'user'],
    ['group', 'group'],
  ] as const)
    try {
      const [name = ''] = (await runTool('getent', [database, String(id)], { signal })).split(':')
      throw failure(
        `${what} ${id} of this machine is ${name}, whose connections would bypass the sidecar; give the id of an unused user and group by --sidecar-uid`,
      )
    } catch (error) {
      // It fails for an id that no one has.
      if (!isOsmError(error, 'OSM_NETNS_COMMAND')) throw error
    }
}

function failure(message: string, cause?: unknown): OsmError<JoinErrorCode> {
  return new OsmError('OSM_JOIN_TRANSPARENT', message, { cause })
}
