import type { ResourceKind, ResourceRef } from '@osm-ts/endpoints-api'

import type { ObjectOrigin, Problem } from '../../problem.js'

/** An object of a provider's kind as it was written; nothing of its spec has been checked. */
export interface StoredResource extends ResourceRef {
  readonly group: string
  readonly labels: Readonly<Record<string, string>>
  readonly generation: number
  readonly spec: unknown
  readonly origin: ObjectOrigin
}

/** Where objects of providers' kinds are written down: an API server, a folder. */
export interface ResourceStore {
  /** Opens the objects of kinds, in the namespaces of the mesh; resolves when they are complete, or cannot be read at present. Ends with the signal. */
  open(kinds: readonly ResourceKind[], signal: AbortSignal): Promise<OpenedResources>
  /** Why objects may be incomplete, and objects that no provider reads. */
  problems(): readonly Problem[]
}

/** Objects that are followed. */
export interface OpenedResources {
  list(): readonly StoredResource[]
  /** Calls the listener after every change. The result ends it. */
  subscribe(listener: () => void): () => void
}
