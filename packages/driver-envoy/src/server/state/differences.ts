import type { EncodedResource, ResourceDiff, ResourceSet } from '../../resources/types.js'
import type { RetiredResources } from '../policies/retired-resources.js'

/** What a proxy says about itself in its first request for a type. */
export interface OpeningClaims {
  /** The version that it has of a resource; empty if it has some, undefined if it has none. */
  readonly heldVersion: (name: string) => string | undefined
  /** Names that it has and that are not in the set. */
  readonly leftovers: Iterable<string>
  /** Whether it has had its answer about a name that is not in the set. */
  readonly knowsMissing: (name: string) => boolean
  /** An answer is due even if there is nothing to say. */
  readonly owed: boolean
}

/** What a proxy has of one resource. The bytes are unknown where only its word for the version is there. */
export interface Held {
  /** Empty if not even the version is known. */
  readonly version: string
  readonly resource?: EncodedResource
}

/** Some version, or none: what a reconnected state-of-the-world proxy has that is not at the version in force. */
export const heldUnknown: Held = { version: '' }

/** Content that is not sent again until it changes. */
export interface Parked {
  readonly version: string
  /** The proxy's words. Absent if the resource was only part of a refused response: then no one knows whether it is applied. */
  readonly message?: string
}

/** One resource in which a proxy may differ from what it should have. */
export interface Difference {
  /** Absent: the proxy has none. */
  held: Held | undefined
  /** To be sent even if the proxy has it. */
  forced: boolean
  parked: Parked | undefined
  /** Was in a response that was refused without a name; sent again in a smaller group, never with other changes. */
  isCandidate: boolean
}

/** A response that waits for its acknowledgement. */
export interface InFlight {
  readonly nonce: string
  /** What the response moves the proxy to; undefined stands for "does not exist". */
  readonly items: ReadonlyMap<string, EncodedResource | undefined>
  /** Items that only answer a request for something that does not exist. */
  readonly stubs: ReadonlySet<string>
  /** Everything that is in the response. */
  readonly resources: readonly EncodedResource[]
  /** True if something that the proxy needs before it can use a changed parent is in it. */
  readonly warming: boolean
}

/** The content of a response, before version and nonce are put on it. */
export interface Draft {
  readonly items: ReadonlyMap<string, EncodedResource | undefined>
  readonly stubs: ReadonlySet<string>
  readonly resources: readonly EncodedResource[]
  readonly removed: readonly string[]
  /** True if a proxy that applies it has all that it should have. */
  readonly complete: boolean
}

/** What a caller allows a response to hold. */
export interface DraftOptions {
  /** The whole state in every response (clusters and listeners of the state-of-the-world variant). */
  readonly fullState: boolean
  /** False while something may still refer to what is gone. */
  readonly removals: boolean
  /** Resources that must wait for another type. */
  readonly holdBack?: ((name: string) => boolean) | undefined
  /** What is gone and still in use. */
  readonly retired?: RetiredResources | undefined
  /** Replaces a resource that does not exist, where the proxy would otherwise wait forever. */
  readonly stub?: ((name: string) => EncodedResource) | undefined
}

/** Resources that were changed, and nothing else, while the proxy had all that it should have. */
export interface LoneChange {
  /** What the proxy has until it acknowledges the change. */
  readonly before: ResourceSet
  readonly draft: Draft
}

const NO_STUBS: ReadonlySet<string> = new Set()

/** A proxy in rest is to have what is changed in place of what it has by those names. */
export function loneChange(before: ResourceSet, { changed, changedByName }: ResourceDiff): LoneChange {
  const draft = { items: changedByName, stubs: NO_STUBS, resources: changed, removed: [], complete: true }
  return { before, draft }
}

/** The acknowledgement state of one resource that is not applied. */
export interface Unapplied {
  readonly resource: EncodedResource
  /** Present: refused, in these words. */
  readonly message?: string
}

/**
 * What is known of a resource after a response with it was refused. A refusal is per response, yet a proxy may have applied some of it, so the version
 * is in doubt and the resource will be sent again; its last good bytes are kept.
 *
 * @param named - the proxy named others: then this one is most likely applied
 */
export function doubted(
  held: Held | undefined,
  sent: EncodedResource | undefined,
  named: boolean,
  fullState: boolean,
): Held | undefined {
  const resource = held?.resource ?? (named ? sent : undefined)
  if (resource !== undefined) return { version: '', resource }
  // A full state that is refused without a name is refused before any of it is checked.
  return held === undefined && fullState ? undefined : heldUnknown
}

/** A fresh difference. */
export function difference(held: Held | undefined, forced: boolean): Difference {
  return { held, forced, parked: undefined, isCandidate: false }
}

/** What is in place of content that is held back: the last good one, or the new one where the last good one is not known here. */
export function standIn(target: EncodedResource, difference: Difference | undefined): EncodedResource | undefined {
  if (difference === undefined) return target
  return difference.held === undefined ? undefined : (difference.held.resource ?? target)
}
