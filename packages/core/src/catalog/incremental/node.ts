import type { Readable } from './query.js'

/**
 * How much is known about a node's value.
 *
 * `clean`: it is right. `unverified`: something below changed; whether it matters shows when the direct dependencies are checked. `stale`: a direct
 * dependency changed, or there is no value yet. `busy`: it is being computed or verified; reading it now is a cycle.
 *
 * Invariant: the dependents of a node that is not clean are not clean either. So marking may stop at a node that is marked already.
 */
export type NodeState = 'clean' | 'unverified' | 'stale' | 'busy'

/** One input or query at one key. Only the engine touches nodes. */
export interface Node<S> {
  readonly of: Readable<S, unknown, unknown>
  readonly key: unknown
  readonly keyText: string
  state: NodeState
  /** Undefined until computed for the first time. */
  value: unknown
  hasValue: boolean
  /** Revision in which the value last became a different one. */
  changedAt: number
  /** Revision in which the value was last known to be right. */
  verifiedAt: number
  /** In the order of the first read: a later read may only have happened because of what an earlier one gave. */
  dependencies: readonly Node<S>[]
  /** The nodes that read this one: see {@link eachDependent}. */
  dependents: Node<S> | readonly Node<S>[] | Set<Node<S>> | undefined
  /** Readers outside the engine that want the value kept. */
  pins: number
}

/** A node that has never been computed. */
export function makeNode<S>(of: Readable<S, unknown, unknown>, key: unknown, keyText: string): Node<S> {
  return {
    of,
    key,
    keyText,
    state: 'stale',
    value: undefined,
    hasValue: false,
    changedAt: 0,
    verifiedAt: 0,
    dependencies: [],
    dependents: undefined,
    pins: 0,
  }
}

/** So many nodes are looked for in an array. A set takes as much memory as an array of twenty, even while it is empty. */
const MAX_LISTED = 8

/** Nodes that a computation reads, each once, in the order of their first reads. */
export class Dependencies<S> {
  readonly #list: Node<S>[] = []
  #set: Set<Node<S>> | undefined

  get list(): readonly Node<S>[] {
    return this.#list
  }

  has(node: Node<S>): boolean {
    return this.#set?.has(node) ?? this.#list.includes(node)
  }

  add(node: Node<S>): void {
    if (this.has(node)) return
    this.#list.push(node)
    if (this.#set !== undefined) this.#set.add(node)
    else if (this.#list.length > MAX_LISTED) this.#set = new Set(this.#list)
  }
}

/** Visits the nodes that read a node. Thousands are visited after a change: not even an iterator is made. */
export function eachDependent<S>({ dependents }: Node<S>, visit: (dependent: Node<S>) => void): void {
  if (dependents === undefined) return
  if (isList(dependents) || dependents instanceof Set) dependents.forEach(visit)
  else visit(dependents)
}

/** Most of the tens of thousands of nodes are read by one other node or by none, and most of the others by a few. */
export function addDependent<S>(node: Node<S>, dependent: Node<S>): void {
  const { dependents } = node
  if (dependents === undefined) node.dependents = dependent
  else if (dependents instanceof Set) dependents.add(dependent)
  else if (!isList(dependents)) {
    if (dependents !== dependent) node.dependents = [dependents, dependent]
  } else if (!dependents.includes(dependent)) {
    // Not pushed: an array that grows takes place for sixteen more.
    const all = [...dependents, dependent]
    node.dependents = all.length > MAX_LISTED ? new Set(all) : all
  }
}

/** Does nothing if the node is not read by that one. */
export function removeDependent<S>(node: Node<S>, dependent: Node<S>): void {
  const { dependents } = node
  if (dependents === dependent) node.dependents = undefined
  else if (dependents instanceof Set) {
    if (dependents.delete(dependent) && dependents.size === 0) node.dependents = undefined
  } else if (isList(dependents)) {
    const others = dependents.filter((one) => one !== dependent)
    node.dependents = others.length > 1 ? others : others[0]
  }
}

function isList<S>(dependents: Node<S>['dependents']): dependents is readonly Node<S>[] {
  return Array.isArray(dependents)
}

/** For messages: `name(key)`. */
export function describeNode<S>(node: Node<S>): string {
  return `${node.of.name}(${node.keyText})`
}
