import type { Part, PartHash, PartKind, ProxyPart } from './parts.js'

/** Version of the policy document's shape. Additions keep it; a removed or re-interpreted field raises it. */
export const POLICY_VERSION = 1

/** Names a part and pins its content. */
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
 * Steps coalesce: a reader that is slow sees fewer steps, never stale ones, and `added` and `removed` are relative to the step it saw last.
 */
export interface PolicyUpdate {
  /** Rises with every step of this proxy on this host process; echoed in apply reports. */
  readonly revision: number
  /** Hash of the proxy part, which pins the whole document. */
  readonly version: PartHash
  /** The root of the document. */
  readonly proxy: ProxyPart
  /** Parts that are reachable now and were not before, sets included. */
  readonly added: readonly PartRef[]
  /** Parts that were reachable before and are not now. */
  readonly removed: readonly PartRef[]
}

/** A whole policy document: what golden files, `osm proxy config` and the conformance kit read. */
export interface ProxyPolicy {
  /** Which shape the document has. */
  readonly policyVersion: typeof POLICY_VERSION
  /** Hash of the proxy part, which pins the whole document. */
  readonly version: PartHash
  /** The root of the document. */
  readonly proxy: ProxyPart
  /** Every reachable part but the proxy part, by hash, keys sorted. */
  readonly parts: Readonly<Record<string, Part>>
}
