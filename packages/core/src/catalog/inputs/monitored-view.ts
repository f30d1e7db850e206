import {
  MeshSnapshot,
  snapshotObjects,
  type ObjectEdit,
  type Snapshot,
  type SnapshotUpdate,
} from '../../snapshot/index.js'
import {
  allKinds,
  isMonitored,
  isReadInControlPlane,
  kindDefinitions,
  objectKey,
  parseObjectKey,
  type Enrolment,
  type ObjectKey,
} from '../../spec/index.js'

/** A step from one view to the next. */
export interface ViewChange {
  readonly before: Snapshot
  readonly after: Snapshot
  readonly edits: readonly ObjectEdit[]
}

/**
 * What of a specification the mesh may act on: objects of namespaces that take part in it, those of no namespace, and policies in the namespace of the
 * control plane.
 *
 * A namespace that joins or leaves brings or takes all of its objects.
 */
export class MonitoredView {
  readonly #enrolment: Enrolment
  readonly #osmNamespace: string
  #view = MeshSnapshot.empty()
  /** The specification that the view was made from; undefined before the first. */
  #source: Snapshot | undefined

  constructor(enrolment: Enrolment, osmNamespace: string) {
    this.#enrolment = enrolment
    this.#osmNamespace = osmNamespace
  }

  get snapshot(): Snapshot {
    return this.#view
  }

  /** Follows the specification. The first time everything counts as changed. */
  apply({ snapshot, changed }: SnapshotUpdate): ViewChange {
    const keys = this.#source === undefined ? new Set(snapshotObjects(snapshot).keys()) : new Set(changed)
    for (const namespace of this.#namespacesIn(keys)) {
      if (this.#monitored(this.#source, namespace) === this.#monitored(snapshot, namespace)) continue
      for (const key of keysInNamespace(namespace, snapshot, this.#view)) keys.add(key)
    }
    const edits = [...keys].sort().flatMap((key) => this.#edit(key, snapshot))
    const before = this.#view
    this.#source = snapshot
    if (edits.length > 0) this.#view = before.with(edits)
    return { before, after: this.#view, edits }
  }

  #edit(key: ObjectKey, snapshot: Snapshot): readonly ObjectEdit[] {
    const before = this.#view.getByKey(key)
    const object = snapshot.getByKey(key)
    const after = object && this.#visible(snapshot, key) ? object : undefined
    return before === after ? [] : [{ key, before, after }]
  }

  #visible(snapshot: Snapshot, key: ObjectKey): boolean {
    const { kind, namespace = '' } = parseObjectKey(key) ?? {}
    if (kind !== undefined && namespace === this.#osmNamespace && isReadInControlPlane(kind)) return true
    return namespace === '' || isMonitored(snapshot, namespace, this.#enrolment)
  }

  #monitored(snapshot: Snapshot | undefined, namespace: string): boolean {
    return snapshot !== undefined && isMonitored(snapshot, namespace, this.#enrolment)
  }

  #namespacesIn(keys: ReadonlySet<ObjectKey>): readonly string[] {
    return [...keys].flatMap((key) => {
      const parsed = parseObjectKey(key)
      return parsed?.kind === 'Namespace' ? [parsed.name] : []
    })
  }
}

function keysInNamespace(namespace: string, ...snapshots: readonly Snapshot[]): readonly ObjectKey[] {
  const kinds = allKinds().filter((kind) => kindDefinitions[kind].scope === 'Namespaced')
  return snapshots.flatMap((snapshot) =>
    kinds.flatMap((kind) => snapshot.byNamespace(kind, namespace).map((object) => objectKey(object))),
  )
}
