import type { Problem } from '../problem.js'
import { sameContent } from '../spec/content.js'
import type { SpecErrorCode } from '../spec/error-codes.js'
import type { SourceChange } from '../spec/object-source.js'
import { objectKey, objectRef, type MeshObject, type ObjectKey } from '../spec/objects.js'
import { MeshSnapshot, type ObjectEdit } from './mesh-snapshot.js'
import { NamespaceBounds } from './namespace-bounds.js'
import type { Snapshot, SnapshotUpdate } from './snapshot.js'

/** A change and the name of the source it came from. */
export interface SourcedChange extends Pick<SourceChange, 'upserts' | 'deletes'> {
  readonly source: string
}

/**
 * Builds snapshots out of the changes of several sources.
 *
 * When two sources hold the same object, that of the source named first holds and the other is a problem. Objects beyond the bounds of their namespace are
 * problems and in no snapshot.
 */
export class SnapshotBuilder {
  readonly #sources: ReadonlyMap<string, Map<ObjectKey, MeshObject>>
  readonly #shadowed = new Map<ObjectKey, readonly Problem[]>()
  readonly #bounds = new NamespaceBounds()
  #snapshot = MeshSnapshot.empty()

  /** @param sources - names of the sources, in order of precedence */
  constructor(sources: readonly string[]) {
    this.#sources = new Map(sources.map((name) => [name, new Map<ObjectKey, MeshObject>()]))
  }

  /** The newest snapshot; before the first change an empty one of revision 0. */
  get snapshot(): Snapshot {
    return this.#snapshot
  }

  /** Objects that are held by more than one source, and those beyond the bounds of their namespace. */
  problems(): readonly Problem[] {
    return [...[...this.#shadowed.values()].flat(), ...this.#bounds.problems()]
  }

  /** Takes in changes. When nothing differs in content the snapshot stays the same one. */
  apply(changes: readonly SourcedChange[]): SnapshotUpdate {
    const touched = new Set<ObjectKey>()
    for (const { source, upserts, deletes } of changes) {
      const held = this.#sources.get(source)
      if (held === undefined)
        throw new RangeError(`${source} is not among the sources ${[...this.#sources.keys()].join(', ')}`)
      for (const object of upserts) {
        const key = objectKey(object)
        held.set(key, object)
        touched.add(key)
      }
      for (const key of deletes) if (held.delete(key)) touched.add(key)
    }
    for (const key of this.#bounds.update([...touched].map((key) => [key, this.#winner(key)] as const)))
      touched.add(key)
    const edits = [...touched].sort().flatMap((key) => this.#edit(key))
    if (edits.length > 0) this.#snapshot = this.#snapshot.with(edits)
    return { snapshot: this.#snapshot, changed: edits.map((edit) => edit.key) }
  }

  #edit(key: ObjectKey): readonly ObjectEdit[] {
    const [winner, ...others] = [...this.#sources.values()].flatMap((held) => held.get(key) ?? [])
    this.#noteShadowed(key, winner, others)
    const after = this.#bounds.isRefused(key) ? undefined : winner
    const before = this.#snapshot.getByKey(key)
    if (before === after || (before && after && sameContent(before, after))) return []
    return [{ key, before, after }]
  }

  #winner(key: ObjectKey): MeshObject | undefined {
    for (const held of this.#sources.values()) {
      const object = held.get(key)
      if (object !== undefined) return object
    }
    return undefined
  }

  #noteShadowed(key: ObjectKey, winner: MeshObject | undefined, others: readonly MeshObject[]): void {
    if (winner === undefined || others.length === 0) {
      this.#shadowed.delete(key)
      return
    }
    const code: SpecErrorCode = 'OSM_SPEC_DUPLICATE'
    const place = winner.origin.kind === 'file' ? `${winner.origin.file}:${winner.origin.line}` : 'the API server'
    this.#shadowed.set(
      key,
      others.map((object) => ({
        code,
        severity: 'error',
        message: `is also defined in ${place}, which takes precedence; remove one of the two`,
        object: objectRef(object),
        origin: object.origin,
      })),
    )
  }
}
