import type { KubernetesObject, ObjectName, ResourceType, Selection } from './api.js'

/** What an informer keeps of every object: as little as its readers need. */
export interface InformerOptions<T> extends Selection {
  readonly type: ResourceType
  /**
   * What is kept of an object; undefined leaves it out. Must be pure and must not hold on to the object itself. `before` is what was kept of it until now: parts
   * that are the same may be taken from there, and nothing else.
   */
  readonly project: (object: KubernetesObject, before: T | undefined) => T | undefined
  /** Values by which objects are found, by name of the index. */
  readonly indexes?: Readonly<Record<string, (item: T) => readonly string[]>>
  /** True if the two are the same to every reader: such a change is not told. Deep equality of JSON when absent. */
  readonly same?: (before: T, after: T) => boolean
}

/** A change of what an informer keeps. */
export interface InformerChange<T> {
  readonly name: ObjectName
  /** Absent: it was added. */
  readonly before?: T
  /** Absent: it was removed. */
  readonly after?: T
}

/** How far an informer has come. */
export type InformerState =
  /** The first list is not complete. */
  | { readonly state: 'syncing'; readonly error?: Error }
  | { readonly state: 'synced' }
  /** It has everything up to a moment, and can't reach the API server since. `since` is in milliseconds since 1970. */
  | { readonly state: 'stale'; readonly since: number; readonly error: Error }

/** A live copy of the objects of a kind. */
export interface Informer<T> {
  readonly type: ResourceType
  /** Starts to follow; resolves when the first list is complete, which may be never if the API server can't be reached. */
  start(signal: AbortSignal): Promise<void>
  /** How far it has come. */
  state(): InformerState
  get(name: ObjectName): T | undefined
  list(): readonly T[]
  byIndex(index: string, value: string): readonly T[]
  /**
   * Calls the listener with what changed, in the order of the API server; a relist gives one call with its whole
   * difference. Not called for the first list. The result ends it.
   */
  subscribe(listener: (changes: readonly InformerChange<T>[]) => void): () => void
}
