import type { ApplyState } from '@osm-ts/driver-api'

import type { SourceRef } from '../catalog/policy/parts/policy-part.js'
import type { ProxyKey } from '../identity/proxy-key.js'

/** A part that a proxy refused, traced back to what the user wrote. */
export interface RejectedPart {
  readonly kind: string
  readonly id: string
  /** The proxy's own words. */
  readonly message: string
  /** Objects, and fields of them, that the refused element came from. */
  readonly sources: readonly SourceRef[]
}

/** Something that is wrong with a proxy and is in no part of its policy. */
export interface StatusCondition {
  /** Stable; listed in docs/reference/errors.md. */
  readonly code: string
  readonly message: string
  /** RFC 3339. */
  readonly since: string
  /** RFC 3339; of what happens now and then the last time. */
  readonly last?: string
  /** How often it has happened since. */
  readonly times?: number
}

/** Somebody who was refused recently: who wanted to be a proxy, or requested what is not its own. */
export interface RefusedPeerStatus extends Required<StatusCondition> {
  /** IP address. */
  readonly address: string
  /** The proxy that its certificate proves it to be, as `<uuid>/<namespace>/<service account>`. */
  readonly proxy?: ProxyKey
}

/** Where one proxy stands: a row of `osm proxy status`. */
export interface ProxyStatus {
  readonly uuid: string
  /** `<namespace>/<instance>`. */
  readonly name: string
  readonly identity: string
  readonly class: string
  readonly connected: boolean
  /** True if the workload takes traffic: only then the policies of its clients hold its endpoints. */
  readonly ready: boolean
  /** Present: its service certificate comes from a SPIFFE Workload API, and not from the mesh. */
  readonly serviceCredential?: 'workload-api'
  /**
   * `applied`: acknowledged as a whole. `rejected`: something was refused and the last good version of it is in force. `unknown`: given, not
   * acknowledged yet. `stale`: not connected to this controller.
   */
  readonly state: ApplyState
  /** Policy version in force in the catalog; absent while the proxy has none, or is not connected to this controller. */
  readonly wantedVersion?: string
  /** Version that the proxy acknowledged as a whole last. */
  readonly appliedVersion?: string
  readonly revision: number
  readonly appliedRevision: number
  /** RFC 3339; absent before the first report. */
  readonly lastReport?: string
  readonly rejected: readonly RejectedPart[]
  /** Ids of inbound parts kept in their deny form, because the proxy refused a change that removes access. */
  readonly denied: readonly string[]
  /** What else is wrong with it: between it and its driver, and whom its driver has refused that was it or came from its address. */
  readonly conditions: readonly StatusCondition[]
}
