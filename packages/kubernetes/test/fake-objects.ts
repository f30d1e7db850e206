import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'

import type { KubernetesManifest, KubernetesObject, ObjectName, ResourceType } from '../src/api.js'
import { apiVersionOf } from '../src/resource-types.js'
import type { FieldOwners } from './fake-apply.js'

/** A change as the store remembers it. */
export interface StoredChange {
  readonly version: number
  readonly table: string
  readonly before: KubernetesObject | undefined
  readonly after: KubernetesObject | undefined
}

/** An answer that is not a success. */
export class FakeFailure extends Error {
  readonly status: number
  readonly reason: string

  constructor(status: number, reason: string, message: string) {
    super(message)
    this.status = status
    this.reason = reason
  }
}

interface Stored {
  readonly object: KubernetesObject
  readonly owners: FieldOwners
}

/** Objects with one counter of resource versions over all of them, and the history since the last compaction. */
export class FakeObjects {
  #version = 1_000
  #compacted = 1_000
  #changes: StoredChange[] = []
  readonly #stored = new Map<string, Stored>()
  readonly #listeners = new Set<(change: StoredChange) => void>()

  get version(): number {
    return this.#version
  }

  /** Changes up to this version are forgotten. */
  get compacted(): number {
    return this.#compacted
  }

  /** Forgets all history: who wants changes since an older version has to list again. */
  compact(): void {
    this.#compacted = this.#version
    this.#changes = []
  }

  /** Lets the version rise without any change, as changes of other kinds do. */
  tick(): void {
    this.#version += 1
  }

  list(type: ResourceType): KubernetesObject[] {
    const prefix = `${tableOf(type)}|`
    const found = [...this.#stored].filter(([key]) => key.startsWith(prefix))
    return found.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { object }]) => object)
  }

  get(type: ResourceType, name: ObjectName): KubernetesObject | undefined {
    return this.#stored.get(keyOf(type, name))?.object
  }

  ownersOf(type: ResourceType, name: ObjectName): FieldOwners {
    return this.#stored.get(keyOf(type, name))?.owners ?? new Map()
  }

  since(version: number, table: string): readonly StoredChange[] {
    return this.#changes.filter((change) => change.version > version && change.table === table)
  }

  subscribe(listener: (change: StoredChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Makes or replaces an object; writing what is there already is no change. */
  put(type: ResourceType, manifest: KubernetesManifest, owners?: FieldOwners, dryRun = false): KubernetesObject {
    const name = { namespace: manifest.metadata.namespace ?? '', name: manifest.metadata.name }
    const before = this.get(type, name)
    const complete = completed(type, manifest, before)
    if (before !== undefined && isDeepStrictEqual(before, complete)) return before
    if (dryRun) return complete
    this.#version += 1
    const object = withVersion(complete, this.#version)
    this.#stored.set(keyOf(type, name), { object, owners: owners ?? this.ownersOf(type, name) })
    this.#tell({ version: this.#version, table: tableOf(type), before, after: object })
    return object
  }

  /** Removes an object; one with finalizers is only marked. */
  remove(type: ResourceType, name: ObjectName): boolean {
    const before = this.get(type, name)
    if (before === undefined) return false
    if ((before.metadata.finalizers?.length ?? 0) > 0) {
      this.put(type, { ...before, metadata: { ...before.metadata, deletionTimestamp: new Date().toISOString() } })
      return true
    }
    this.#version += 1
    this.#stored.delete(keyOf(type, name))
    this.#tell({ version: this.#version, table: tableOf(type), before, after: undefined })
    return true
  }

  #tell(change: StoredChange): void {
    this.#changes.push(change)
    for (const listener of [...this.#listeners]) listener(change)
  }
}

/** All versions of a kind are one table. */
export function tableOf(type: ResourceType): string {
  return `${type.plural}.${type.group}`
}

export function withVersion(object: KubernetesObject, version: number): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } }
}

function completed(
  type: ResourceType,
  manifest: KubernetesManifest,
  before: KubernetesObject | undefined,
): KubernetesObject {
  const specChanged = before === undefined || !isDeepStrictEqual(before.spec, manifest.spec)
  const metadata = {
    ...manifest.metadata,
    uid: before?.metadata.uid ?? manifest.metadata.uid ?? randomUUID(),
    creationTimestamp: before?.metadata.creationTimestamp ?? new Date().toISOString(),
    generation: (before?.metadata.generation ?? 0) + (specChanged ? 1 : 0),
    resourceVersion: before?.metadata.resourceVersion ?? '',
  }
  return { ...manifest, apiVersion: apiVersionOf(type), kind: type.kind, metadata }
}

function keyOf(type: ResourceType, { namespace, name }: ObjectName): string {
  return `${tableOf(type)}|${namespace}/${name}`
}
