import type { DriverEntry } from '@osm-ts/driver-process'
import type { JoinMachineOptions, MachineInterception } from '@osm-ts/standalone'

import type { CliContext } from '../cli-context.js'
import { loadedBinaries, type SidecarFlags, sidecarPrograms } from '../commands/run-options.js'
import { cliError } from '../errors.js'
import type { ProofFlags } from './join-proof.js'
import type { MachineGateway, MachinePort } from './machine-values.js'

/** Options of `osm machine join`. */
export interface JoinFlags extends SidecarFlags, ProofFlags {
  readonly name: string
  readonly address?: string
  readonly network?: string
  readonly gateway?: MachineGateway
  readonly port?: readonly MachinePort[]
  readonly listeners: { readonly first: number; readonly last: number }
  readonly transparent?: boolean
  readonly excludeOutboundPorts?: readonly number[]
  readonly excludeOutboundIpRanges?: readonly string[]
  readonly includeOutboundIpRanges?: readonly string[]
  readonly sidecarUid?: number
  readonly driverPackages?: string
  readonly sidecar?: readonly string[]
  readonly state: string
  readonly printSystemdUnit?: boolean
  readonly output: string
}

/**
 * What connections are redirected; undefined without --transparent.
 *
 * @throws OsmError if an option means nothing without it
 */
export function transparentOf(flags: JoinFlags): MachineInterception | undefined {
  const { excludeOutboundPorts, excludeOutboundIpRanges, includeOutboundIpRanges, sidecarUid } = flags
  if (flags.transparent === true)
    return {
      ...(sidecarUid !== undefined && { sidecarUid }),
      outboundPortExclusions: excludeOutboundPorts ?? [],
      outboundIpRangeExclusions: excludeOutboundIpRanges ?? [],
      outboundIpRangeInclusions: includeOutboundIpRanges ?? [],
    }
  const [given] = Object.entries({
    '--exclude-outbound-ports': excludeOutboundPorts,
    '--exclude-outbound-ip-ranges': excludeOutboundIpRanges,
    '--include-outbound-ip-ranges': includeOutboundIpRanges,
    '--sidecar-uid': sidecarUid,
  }).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  if (given === undefined) return undefined
  throw cliError('OSM_CLI_USAGE', `${given} needs --transparent`, 'without it, no connections are redirected')
}

/**
 * The network of the machine; undefined if it is that of the mesh.
 *
 * @throws OsmError if there is a gateway to no network
 */
export function networkOf({ network: name, gateway }: JoinFlags): JoinMachineOptions['network'] {
  if (name !== undefined) return { name, ...(gateway !== undefined && { gateway }) }
  if (gateway === undefined) return undefined
  throw cliError('OSM_CLI_USAGE', '--gateway needs --network', 'callers of the same network do not use the gateway')
}

/** Executables that are there, and drivers beside those that are built in: which class is needed the control plane says. */
export async function sidecarsOf(
  context: CliContext,
  flags: JoinFlags,
): Promise<Pick<JoinMachineOptions, 'sidecarBinaries'> & { readonly driverPackages: readonly DriverEntry[] }> {
  const { listedDrivers } = await import('@osm-ts/driver-process')
  const driverPackages = await listedDrivers(flags.driverPackages ?? '', context.variables)
  const found = Object.entries(sidecarPrograms).flatMap(([name, { find }]) => {
    const named = name === 'pipy' ? flags.pipy : flags.envoy
    try {
      return [[name, find(context, named)] as const]
    } catch (error) {
      if (named !== undefined) throw error
      return []
    }
  })
  const sidecarBinaries = { ...Object.fromEntries(found), ...loadedBinaries(context, flags, driverPackages) }
  return { sidecarBinaries, driverPackages }
}
