import type { Problem, ProxyStatus } from '@osm-ts/core'

import type { ObservedSplit } from './split-log.js'
import type { TrafficRow } from './traffic-log.js'

/** What a sidecar's own certificate says. */
export interface SeenCertificate {
  /** URIs of its subject alternative names. */
  readonly uris: readonly string[]
}

/** Everything that the live table shows, as plain data. */
export interface LiveView {
  /** The folder, as the user may edit it. */
  readonly folder: string
  readonly mode: 'explicit' | 'transparent'
  readonly controllerUrl: string | undefined
  /** Absent where none is served. */
  readonly dashboardUrl?: string | undefined
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly now: number
  readonly traffic: readonly TrafficRow[]
  readonly splits: readonly ObservedSplit[]
  readonly proxies: readonly ProxyStatus[]
  /** By `<namespace>/<instance>`; a sidecar that was not asked yet has none. */
  readonly certificates: ReadonlyMap<string, SeenCertificate>
  /** `<namespace>/<instance>` of proxies that this mesh has not started, such as those of machines that have joined: they cannot be asked from here. */
  readonly elsewhere: ReadonlySet<string>
  readonly problems: readonly Problem[]
  /** What happened to processes lately, newest last. */
  readonly notices: readonly string[]
}
