import type { ObjectOrigin, Problem } from '../problem.js'
import type { MeshObject, ObjectKey } from './objects.js'

/** What changed in a source. Complete in itself: applying it leads from one consistent state to the next. */
export interface SourceChange {
  readonly upserts: readonly MeshObject[]
  readonly deletes: readonly ObjectKey[]
  /** All current problems of the source, not only new ones. */
  readonly problems: readonly Problem[]
}

/** Where objects of the mesh specification come from: a folder, an API server. */
export interface ObjectSource {
  /** Unique among the sources of a mesh. */
  readonly name: string
  /**
   * Starts to watch and resolves when the first complete load is done. The source stops when the signal aborts.
   *
   * @throws OsmError when nothing can be loaded at all
   */
  start(signal: AbortSignal): Promise<void>
  /** Calls the listener with every change after the first load. The result ends the subscription. */
  subscribe(listener: (change: SourceChange) => void): () => void
  /** All current problems. */
  problems(): readonly Problem[]
  /** All objects in force. */
  objects(): readonly MeshObject[]
  /** Where an object, or a field of it, is written down now; undefined if the source doesn't hold it. */
  locate(key: ObjectKey, field?: string): ObjectOrigin | undefined
}
