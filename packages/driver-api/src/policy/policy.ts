import type { Part, PartHash, PartKind, ProxyPart } from './parts.js'

/** Version of the policy document. Additions do not change it; removed or reinterpreted fields increase it. */
export const POLICY_VERSION = 1

/** Identifies a part and its content. */
export interface PartRef {
  /** What it is. */
  readonly kind: PartKind
  /** Which one. */
  readonly id: string
  /** Which content. */
  readonly hash: PartHash
}

/**
 * One step of a proxy's policy stream.
 *
 * Steps coalesce: a slow reader sees fewer steps, but no stale ones, and `added` and `removed` are relative to the last step that it read.
 */
export interface PolicyUpdate {
  /** Rises with every step of this proxy on this host process; echoed in apply reports. */
  readonly revision: number
  /** Hash of the proxy part, which identifies the whole document. */
  readonly version: PartHash
  /** The root of the document. */
  readonly proxy: ProxyPart
  /** Parts that are reachable now and were not before, sets included. */
  readonly added: readonly PartRef[]
  /** Parts that were reachable before and are not now. */
  readonly removed: readonly PartRef[]
}

/** A whole policy document, as used by golden files, `osm proxy config` and the conformance kit. */
export interface ProxyPolicy {
  /** Which shape the document has. */
  readonly policyVersion: typeof POLICY_VERSION
  /** Hash of the proxy part, which identifies the whole document. */
  readonly version: PartHash
  /** The root of the document. */
  readonly proxy: ProxyPart
  /** Every reachable part but the proxy part, by hash, keys sorted. */
  readonly parts: Readonly<Record<string, Part>>
}
