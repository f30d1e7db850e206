import type { DriverCertificates, Eviction, Logger, PolicySource, Proxies } from '@osm-ts/driver-api'
import type { PartStore, WorkTurns } from '@osm-ts/driver-api/toolkit'

import type { Codebase } from '../codebase/codebase.js'
import type { DocumentMaker } from '../document.js'
import type { RepoMetrics } from './repo-metrics.js'

/** What all sessions of a server share. */
export interface SessionPorts {
  readonly proxies: Proxies
  readonly policies: PolicySource['policies']
  readonly certificates: Pick<DriverCertificates, 'identity' | 'credentials'>
  readonly parts: PartStore
  readonly make: DocumentMaker
  readonly turns: WorkTurns
  /** The codebase in force. */
  readonly codebase: () => Codebase
  readonly metrics: RepoMetrics
  readonly logger: Logger
  /** Milliseconds. */
  readonly now: () => number
}

/** Why a session ended. `idle`: the worker was silent. */
export type SessionEnd = Eviction['reason'] | 'idle' | 'fault'

/** An admin link: the server's way to tell a worker something. */
export interface AdminLink {
  /** Has the worker fetch its codebase again. */
  reload(): void
  close(): void
}
