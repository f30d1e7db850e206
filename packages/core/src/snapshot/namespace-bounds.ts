import {
  addExpressions,
  countExpressions,
  exceeded,
  expressionKinds,
  expressionsOf,
  type ExpressionSums,
  namespaceExpressionBounds,
  sumExpressions,
} from '../spec/expressions.js'
import type { SpecErrorCode } from '../spec/error-codes.js'
import { objectRef, type MeshObject, type ObjectKey } from '../spec/objects.js'
import type { Problem } from '../problem.js'

const none: ExpressionSums = { count: 0, textLength: 0, programSize: 0 }

/** An object with expressions. They are read when it comes to that: of a namespace with too many, most never are. */
class Counted {
  readonly object: MeshObject
  /** Without the sizes of programs. */
  readonly counts: ExpressionSums
  #sums: ExpressionSums | undefined

  constructor(object: MeshObject) {
    this.object = object
    this.counts = countExpressions(expressionsOf(object))
  }

  sums(): ExpressionSums {
    this.#sums ??= sumExpressions(expressionsOf(this.object))
    return this.#sums
  }
}

interface NamespaceState {
  readonly counted: Map<ObjectKey, Counted>
  refused: ReadonlyMap<ObjectKey, Problem>
}

/**
 * Keeps what the objects of each namespace cost in all within bounds, one namespace apart from the others. Of a namespace beyond them the objects count in
 * the order of their kind and name, so that every replica leaves out the same ones.
 */
export class NamespaceBounds {
  readonly #namespaces = new Map<string, NamespaceState>()

  /** True for an object that has no effect. */
  isRefused(key: ObjectKey): boolean {
    return this.#namespaces.get(namespaceOf(key))?.refused.has(key) === true
  }

  problems(): readonly Problem[] {
    return [...this.#namespaces.values()].flatMap(({ refused }) => [...refused.values()])
  }

  /**
   * Takes note of objects as they are now, undefined for those that are gone.
   *
   * @returns other objects of the same namespaces that are left out, or are not any more, since then
   */
  update(objects: Iterable<readonly [ObjectKey, MeshObject | undefined]>): readonly ObjectKey[] {
    const touched = new Set<string>()
    for (const [key, object] of objects) if (isCounted(key) && this.#count(key, object)) touched.add(namespaceOf(key))
    return [...touched].flatMap((namespace) => this.#decide(namespace))
  }

  #count(key: ObjectKey, object: MeshObject | undefined): boolean {
    const namespace = namespaceOf(key)
    let state = this.#namespaces.get(namespace)
    if (state?.counted.get(key)?.object === object) return false
    if (state === undefined) {
      state = { counted: new Map(), refused: new Map() }
      this.#namespaces.set(namespace, state)
    }
    if (object === undefined) state.counted.delete(key)
    else state.counted.set(key, new Counted(object))
    if (state.counted.size === 0) this.#namespaces.delete(namespace)
    return true
  }

  #decide(namespace: string): readonly ObjectKey[] {
    const state = this.#namespaces.get(namespace)
    if (state === undefined) return []
    const { refused: before, counted } = state
    if (isWithinBounds(counted.values())) {
      state.refused = new Map()
      return [...before.keys()]
    }
    state.refused = refusedOf(counted)
    const { refused } = state
    return [
      ...[...before.keys()].filter((key) => !refused.has(key)),
      ...[...refused.keys()].filter((key) => !before.has(key)),
    ]
  }
}

function isWithinBounds(counted: Iterable<Counted>): boolean {
  const all = [...counted]
  if (exceeded(all.map(({ counts }) => counts).reduce(addExpressions, none), namespaceExpressionBounds) !== undefined)
    return false
  return exceeded(all.map((it) => it.sums()).reduce(addExpressions, none), namespaceExpressionBounds) === undefined
}

function refusedOf(counted: ReadonlyMap<ObjectKey, Counted>): ReadonlyMap<ObjectKey, Problem> {
  const refused = new Map<ObjectKey, Problem>()
  let sum = none
  for (const [key, it] of [...counted].sort(([a], [b]) => (a < b ? -1 : 1))) {
    // What comes after the first may be smaller: it is left out too, so that an object counts or not by its place alone.
    if (refused.size > 0) {
      refused.set(key, beyond(it.object, undefined))
      continue
    }
    const what =
      exceeded(addExpressions(sum, it.counts), namespaceExpressionBounds) ??
      exceeded(addExpressions(sum, it.sums()), namespaceExpressionBounds)
    if (what === undefined) sum = addExpressions(sum, it.sums())
    else refused.set(key, beyond(it.object, what))
  }
  return refused
}

function beyond(object: MeshObject, what: string | undefined): Problem {
  const code: SpecErrorCode = 'OSM_SPEC_NAMESPACE_BOUND'
  const { namespace } = object.metadata
  const message =
    what === undefined
      ? `has no effect: objects of namespace ${namespace} before it, by kind and name, are beyond what one namespace may have of expressions`
      : `has no effect: with it namespace ${namespace} has ${what} in a namespace; objects count by kind and name`
  return { code, severity: 'error', message, object: objectRef(object), origin: object.origin, field: 'spec' }
}

function isCounted(key: ObjectKey): boolean {
  return expressionKinds.some((kind) => key.startsWith(`${kind}/`))
}

function namespaceOf(key: ObjectKey): string {
  return key.slice(key.indexOf('/') + 1, key.lastIndexOf('/'))
}
