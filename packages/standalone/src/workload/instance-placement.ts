import {
  type KindMap,
  type Problem,
  servedPorts,
  type Snapshot,
  type WorkloadInstanceSpec,
  type WorkloadPort,
} from '@osm-ts/core'
import type { SidecarPatch } from '@osm-ts/driver-api'
import type { ListenAddresses } from '@osm-ts/driver-api/policy'

import type { MeshMode } from '../types.js'

/** A program to be started, as a placement would start it. */
export interface ProgramCommand {
  readonly file: string
  readonly args: readonly string[]
  /** Open files that it needs as 3, 4, … */
  readonly files?: readonly number[]
}

/** Everything about an instance that depends on services, at one moment. */
export interface SiteView {
  /** Explicit mode only. */
  readonly allocations: WorkloadInstanceSpec['allocations']
  /** How the workload is told to reach others. */
  readonly variables: Readonly<Record<string, string>>
  readonly problems: readonly Problem[]
}

/** A request over the loopback of the place where a sidecar runs; resolves to the status of the answer, rejects without one. */
export type LoopbackRequest = (
  request: { readonly method: 'GET' | 'POST'; readonly port: number; readonly path: string },
  signal: AbortSignal,
) => Promise<number>

/** Where one instance runs: on the network of this machine, or in its own network namespace. */
export interface InstancePlacement {
  readonly mode: MeshMode
  readonly interceptionMode: 'iptables' | 'none'
  /** Where the sidecar's own listeners are. */
  readonly listen: ListenAddresses
  /** Where the sidecar reaches the controller. */
  readonly controllerAddress: string
  /** Ports of the workload, and where its process listens. */
  readonly ports: readonly WorkloadPort[]
  /** Path of the network namespace that programs enter when they start; undefined on the network of this machine. */
  readonly networkNamespace: string | undefined
  /** Address that the workload should listen on. */
  readonly host: string
  /** Folder for the sidecar's files, and the user who reads them if it is another one. */
  readonly home: { readonly folder: string; readonly uid: number | undefined }
  /** Joins the network; resolves to the address of the instance. Called once, before anything is started. */
  enter(patch: SidecarPatch | undefined, signal: AbortSignal): Promise<string>
  /** Looks at the services again. */
  refresh(snapshot: Snapshot): Promise<SiteView>
  program(argv: readonly [string, ...string[]]): ProgramCommand
  sidecar(argv: readonly [string, ...string[]], uid: number): ProgramCommand
  readonly request: LoopbackRequest
  /** Gives everything back that the instance held. */
  leave(): Promise<void>
}

/** Ports that a workload declares, then those that only services know it to have. */
export function workloadPorts(snapshot: Snapshot, workload: KindMap['Workload']): readonly WorkloadPort[] {
  const declared = workload.spec.ports
  const known = new Set(declared.map(({ port }) => port))
  const targets = servedPorts(snapshot, workload, declared).map(({ targetPort }) => targetPort)
  return [...declared, ...[...new Set(targets)].filter((port) => !known.has(port)).map((port) => ({ port }))]
}
