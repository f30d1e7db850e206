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

import type { ProblemBook } from '../problem-book.js'
import type { ProcessLedger } from '../process/process-ledger.js'
import type { StatePaths } from '../state/state-folder.js'
import type { MeshEvent } from '../types.js'
import type { DesiredInstance } from './desired-instances.js'
import type { Site } from './site.js'

/** What all instances of a mesh share. */
export interface InstanceServices {
  readonly paths: StatePaths
  readonly ledger: ProcessLedger
  readonly certificates: CertificateManager
  readonly registry: DriverRegistry
  readonly configurator: MeshConfigurator
  readonly domains: MeshDomains
  readonly problems: ProblemBook
  readonly emit: (event: MeshEvent) => void
  /** Told after every change of an instance's state. */
  readonly onChange: () => void
  readonly sidecarBinaries: Readonly<Record<string, string>>
  /** Most milliseconds for which sidecars are drained; as long as their drivers say if absent. */
  readonly maxDrainMs?: number
  /** What children inherit. */
  readonly environment: Readonly<Record<string, string>>
  /** Where the proxy control plane of a class listens; undefined if no driver has that name. */
  readonly controlPlanePort: (sidecarClass: string) => number | undefined
  readonly openSite: (desired: DesiredInstance, snapshot: Snapshot) => Promise<Site>
  readonly locate: (key: ObjectKey, field: string) => ObjectOrigin | undefined
  readonly clock: Clock
  readonly random: Random
}
