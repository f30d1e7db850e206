import type {
  CertificateManager,
  Clock,
  DriverRegistry,
  MeshConfigurator,
  MeshDomains,
  ObjectOrigin,
  ObjectKey,
  Random,
  Snapshot,
} from '@osm-ts/core'

import type { ProblemSet } from '../problem-set.js'
import type { ProcessRegistry } from '../process/process-registry.js'
import type { StatePaths } from '../state/state-folder.js'
import type { MeshEvent } from '../types.js'
import type { DesiredInstance } from './desired-instances.js'
import type { InstancePlacement } from './instance-placement.js'

/** What all instances of a mesh share. */
export interface InstanceServices {
  readonly paths: StatePaths
  readonly processes: ProcessRegistry
  readonly certificates: CertificateManager
  readonly registry: DriverRegistry
  readonly configurator: MeshConfigurator
  readonly domains: MeshDomains
  readonly problems: ProblemSet
  readonly emit: (event: MeshEvent) => void
  /** Told after every change of an instance's state. */
  readonly onChange: () => void
  readonly sidecarBinaries: Readonly<Record<string, string>>
  /** Most milliseconds for which sidecars are drained; as long as their drivers say if absent. */
  readonly maxDrainMs?: number
  /** Unix socket of the Workload API that sidecars take their certificates from where their class can; the mesh gives them if absent. */
  readonly workloadApiSocket?: string
  /** Resolves when no sidecar sends the instance with that proxy anything new, or when the signal aborts. */
  readonly untilCallersKnow: (uuid: string, signal: AbortSignal) => Promise<void>
  /** What children inherit. */
  readonly environment: Readonly<Record<string, string>>
  /** Where the proxy control plane of a class listens; undefined if no driver has that name. */
  readonly controlPlanePort: (sidecarClass: string) => number | undefined
  readonly placeInstance: (desired: DesiredInstance, snapshot: Snapshot) => Promise<InstancePlacement>
  readonly locate: (key: ObjectKey, field: string) => ObjectOrigin | undefined
  readonly clock: Clock
  readonly random: Random
}
