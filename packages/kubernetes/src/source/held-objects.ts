import {
  brokenScriptEdit,
  compareProblems,
  type MeshObject,
  type ObjectKey,
  objectKey,
  type Problem,
  sameContent,
  type SourceChange,
} from '@osm-ts/core'
import type { WrittenObject } from './written-object.js'
import { sameProblems } from './written-object.js'

/** What is to be held from now on. */
export interface HeldEdit {
  readonly key: ObjectKey
  /** Absent: nothing that could be used. */
  readonly object?: MeshObject | undefined
  readonly problems: readonly Problem[]
  /** True: where nothing can be used, the version before stays in force. */
  readonly lastGood: boolean
}

/** The objects in force, and what is wrong with them and others. Says of every edit what it changed. */
export class HeldObjects {
  readonly #objects = new Map<ObjectKey, MeshObject>()
  readonly #problems = new Map<ObjectKey, readonly Problem[]>()
  #general: readonly Problem[] = []
  #sorted: readonly Problem[] | undefined

  get(key: ObjectKey): MeshObject | undefined {
    return this.#objects.get(key)
  }

  objects(): readonly MeshObject[] {
    return [...this.#objects.values()]
  }

  /** All problems, sorted. */
  problems(): readonly Problem[] {
    this.#sorted ??= [...this.#general, ...[...this.#problems.values()].flat()].sort(compareProblems)
    return this.#sorted
  }

  /** Takes edits over; undefined if no one could tell the difference. */
  apply(edits: readonly HeldEdit[], removals: readonly ObjectKey[] = []): SourceChange | undefined {
    const upserts = new Map<ObjectKey, MeshObject>()
    const deletes = new Set<ObjectKey>()
    let problemsChanged = false
    for (const key of removals) {
      if (this.#objects.delete(key)) deletes.add(key)
      if (this.#setProblems(key, [])) problemsChanged = true
    }
    for (const { key, object, problems, lastGood } of edits) {
      const before = this.#objects.get(key)
      if (lastGood && before !== undefined && object !== undefined) {
        const broken = brokenScriptEdit(before, object)
        if (broken !== undefined) {
          if (this.#setProblems(key, [...problems, { ...broken, origin: object.origin }])) problemsChanged = true
          continue
        }
      }
      if (this.#setProblems(key, problems)) problemsChanged = true
      if (object === undefined) {
        if (!lastGood && this.#objects.delete(key)) deletes.add(key)
      } else if (before === undefined || !sameContent(before, object)) {
        this.#objects.set(key, object)
        upserts.set(key, object)
        deletes.delete(key)
      }
    }
    return this.#change([...upserts.values()], [...deletes], problemsChanged)
  }

  /** Replaces the problems that are of no object. */
  setGeneral(problems: readonly Problem[]): SourceChange | undefined {
    if (sameProblems(this.#general, problems)) return undefined
    this.#general = problems
    this.#sorted = undefined
    return this.#change([], [], true)
  }

  /** Keys of everything of a namespace, the Namespace itself included. */
  keysOf(namespace: string): readonly ObjectKey[] {
    const own = objectKeyOfNamespace(namespace)
    const inside = (key: ObjectKey): boolean => key === own || key.split('/')[1] === namespace
    return [...new Set([...this.#objects.keys(), ...this.#problems.keys()])].filter(inside)
  }

  #setProblems(key: ObjectKey, problems: readonly Problem[]): boolean {
    if (sameProblems(this.#problems.get(key) ?? [], problems)) return false
    if (problems.length === 0) this.#problems.delete(key)
    else this.#problems.set(key, problems)
    this.#sorted = undefined
    return true
  }

  #change(upserts: readonly MeshObject[], deletes: readonly ObjectKey[], problems: boolean): SourceChange | undefined {
    if (upserts.length === 0 && deletes.length === 0 && !problems) return undefined
    return { upserts, deletes, problems: this.problems() }
  }
}

/** An object that a user wrote: a bad version of it does not replace the good one before. */
export function editOf({ key, object, problems }: WrittenObject): HeldEdit {
  return { key, object, problems, lastGood: true }
}

/** An instance, which is what it is: nothing of an earlier one stays. */
export function instanceEdit(key: ObjectKey, object: MeshObject | undefined, problems: readonly Problem[]): HeldEdit {
  return { key: object === undefined ? key : objectKey(object), object, problems, lastGood: false }
}

function objectKeyOfNamespace(namespace: string): ObjectKey {
  return `Namespace//${namespace}` as ObjectKey // the form of keys of cluster-scoped kinds
}
