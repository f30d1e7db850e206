import type { ServiceNames } from '@osm-ts/core'
import type { InjectorContext, SidecarPatch } from '@osm-ts/driver-api'

import type { ProgramCommand } from '../workload/instance-placement.js'
import type { FileTarget } from '../workload/sidecar-files.js'
import type { MachineState, Membership } from './machine-state.js'

/** What the driver is told of the way to its sidecar. */
export type SidecarReach = Pick<
  InjectorContext,
  | 'interceptionMode'
  | 'listen'
  | 'inboundPortExclusionList'
  | 'outboundPortExclusionList'
  | 'outboundIPRangeInclusionList'
  | 'outboundIPRangeExclusionList'
  | 'networkInterfaceExclusionList'
>

/** The sidecar of a machine, and the way to it: what the two modes do differently. */
export interface MachinePlace {
  readonly mode: 'explicit' | 'transparent'
  /** Folder of the sidecar's files, and the user who reads them if it is another one. */
  readonly home: FileTarget
  reach(membership: Membership): SidecarReach
  /** Leads connections to the sidecar, which is about to be started. */
  enter(patch: SidecarPatch, membership: Membership, signal: AbortSignal): Promise<void>
  /** How the sidecar is started. */
  sidecar(argv: readonly [string, ...string[]]): ProgramCommand
  /** Digest of the names of Services that the machine has; undefined if it takes none. */
  readonly namesDigest: string | undefined
  setNames(names: ServiceNames): void
  /** Takes back what was changed outside of the state folder. The sidecar has ended. */
  leave(): Promise<void>
}

const LOOPBACK = '127.0.0.1'

/** Programs are told where the sidecar listens. It runs as the user of this process. */
export function explicitPlace(state: MachineState): MachinePlace {
  return {
    mode: 'explicit',
    home: { folder: state.run, uid: undefined },
    reach: ({ listeners: { first } }) => ({
      interceptionMode: 'none',
      listen: {
        outboundHttp: { address: LOOPBACK, port: first },
        metrics: { address: LOOPBACK, port: first + 1 },
        admin: { address: LOOPBACK, port: first + 2 },
      },
      inboundPortExclusionList: [],
      outboundPortExclusionList: [],
      outboundIPRangeInclusionList: [],
      outboundIPRangeExclusionList: [],
      networkInterfaceExclusionList: [],
    }),
    enter: async () => undefined,
    sidecar: ([file, ...args]) => ({ file, args }),
    namesDigest: undefined,
    setNames: () => undefined,
    leave: async () => undefined,
  }
}
