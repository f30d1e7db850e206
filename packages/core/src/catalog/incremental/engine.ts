import { OsmError } from '@osm-ts/driver-api'

import { Counters, type QueryCount } from './counters.js'
import {
  addDependent,
  Dependencies,
  describeNode,
  eachDependent,
  makeNode,
  type Node,
  removeDependent,
} from './node.js'
import type { Input, Query, QueryContext, Readable } from './query.js'

/** An input at a key whose value in the source may be another one now. */
export interface Touched<S> {
  readonly input: Input<S, never, unknown>
  readonly key: unknown
}

/** Names an input at a key, whatever its values are. */
export function touched<S, K>(
  input: Pick<Input<S, K, unknown>, 'type' | 'name' | 'keyOf' | 'read'>,
  key: K,
): Touched<S> {
  // The pair is made here, where both halves have one K, and taken apart only inside the engine.
  return { input: input as unknown as Input<S, never, unknown>, key }
}

interface Frame<S> {
  readonly node: Node<S>
  readonly dependencies: Dependencies<S>
  failure: { readonly error: unknown } | undefined
  done: boolean
}

/**
 * Demand-driven incremental computation.
 *
 * A change marks everything that read the changed input, directly or not, and computes nothing. A read brings one value up to date: it looks at the
 * dependencies first and computes only if one of them really changed. A result equal to the one before stops the change from spreading.
 * Synchronous, without clock or I/O. See docs/design/incremental.md.
 */
export class Engine<S> {
  #source: S
  #revision = 1
  readonly #nodes = new Map<Readable<S, never, unknown>, Map<string, Node<S>>>()
  readonly #frames: Frame<S>[] = []
  /** Nodes that nothing read when last looked at. */
  readonly #unread = new Set<Node<S>>()
  /** Pinned nodes that are not clean, by what they are values of. */
  readonly #outdated = new Map<Readable<S, unknown, unknown>, Set<Node<S>>>()
  readonly #counters = new Counters()
  #size = 0

  constructor(source: S) {
    this.#source = source
  }

  /** Rises with every {@link update}. */
  get revision(): number {
    return this.#revision
  }

  /** Number of values held. */
  get size(): number {
    return this.#size
  }

  /** The up-to-date value. A value that is neither pinned nor read by another is removed by the next {@link collect}. */
  get<K, V>(of: Readable<S, K, V>, key: K): V {
    this.#refuseInside('get')
    const node = this.#node(of, key)
    this.#refresh(node)
    if (node.pins === 0 && node.dependents === undefined) this.#unread.add(node)
    // The table of nodes is keyed by `of`, so the value has its type.
    return node.value as V
  }

  /** Keeps a value from being collected, and has {@link outdated} report it. Calls nest. */
  pin<K, V>(of: Query<S, K, V>, key: K): void {
    const node = this.#node(of, key)
    node.pins += 1
    if (node.state !== 'clean') this.#noteOutdated(node)
  }

  /** Undoes one {@link pin}. */
  unpin<K, V>(of: Query<S, K, V>, key: K): void {
    const node = this.#node(of, key)
    if (node.pins === 0) throw new OsmError('OSM_QUERY_MISUSE', `${describeNode(node)} is not pinned`)
    node.pins -= 1
    if (node.pins > 0) return
    this.#outdated.get(node.of)?.delete(node)
    if (node.dependents === undefined) this.#unread.add(node)
  }

  /**
   * Takes a new source into force. `changes` must name every input at every key whose value differs; naming more is harmless.
   * Inputs that no one read cost nothing. An input that can't be read fails anyone who reads it, and nothing else.
   */
  update(source: S, changes: Iterable<Touched<S>>): void {
    this.#refuseInside('update')
    this.#source = source
    this.#revision += 1
    for (const { input, key } of changes) {
      const keyText = input.keyOf(key as never)
      const node = this.#nodes.get(input)?.get(keyText)
      // Thousands of objects may be found under one key: their list is read once for all of them.
      if (node === undefined || node.verifiedAt === this.#revision) continue
      if (this.#readAgain(node, () => input.read(source, key as never))) this.#markDependents(node)
    }
  }

  /** True if anyone who has read the input must look again. */
  #readAgain(node: Node<S>, read: () => unknown): boolean {
    let value: unknown
    try {
      value = read()
    } catch {
      // Read once more by anyone who needs it, who is then told why that fails.
      node.state = 'stale'
      return true
    }
    const changed = !node.hasValue || !(node.of as Input<S, unknown, unknown>).equal(node.value, value)
    node.value = value
    node.hasValue = true
    node.state = 'clean'
    node.verifiedAt = this.#revision
    if (changed) node.changedAt = this.#revision
    return changed
  }

  /** Keys of pinned values of a query that are not known to be right: a change may have affected them. Reading one takes it off the list. */
  outdated<K, V>(of: Query<S, K, V>): readonly K[] {
    const nodes = this.#outdated.get(of as unknown as Readable<S, unknown, unknown>) ?? []
    return Array.from(nodes, (node) => node.key as K)
  }

  /** Forgets every value that is neither pinned nor read by one that is. */
  collect(): void {
    this.#refuseInside('collect')
    // A set yields what is added while it is walked, so whole chains go at once.
    for (const node of this.#unread) {
      this.#unread.delete(node)
      if (node.pins > 0 || node.dependents !== undefined) continue
      const group = this.#nodes.get(node.of)
      group?.delete(node.keyText)
      if (group?.size === 0) this.#nodes.delete(node.of)
      this.#size -= 1
      for (const dependency of node.dependencies) this.#unlink(node, dependency)
    }
  }

  /** Counts by query name since {@link resetCounters}. */
  counters(): ReadonlyMap<string, QueryCount> {
    return this.#counters.read()
  }

  resetCounters(): void {
    this.#counters.reset()
  }

  #node<K, V>(of: Readable<S, K, V>, key: K): Node<S> {
    const group = this.#group(of)
    const keyText = of.keyOf(key)
    let node = group.get(keyText)
    if (node === undefined) {
      node = makeNode<S>(of as unknown as Readable<S, unknown, unknown>, key, keyText)
      group.set(keyText, node)
      this.#size += 1
      this.#unread.add(node)
    }
    return node
  }

  #group<K, V>(of: Readable<S, K, V>): Map<string, Node<S>> {
    const identity = of as unknown as Readable<S, never, unknown>
    let group = this.#nodes.get(identity)
    if (group === undefined) {
      group = new Map()
      this.#nodes.set(identity, group)
    }
    return group
  }

  #refresh(node: Node<S>): void {
    switch (node.state) {
      case 'clean':
        return
      case 'busy':
        throw this.#cycle(node)
      case 'stale':
        this.#compute(node)
        return
      case 'unverified':
        if (this.#verify(node)) this.#counters.verified(node.of.name)
        else this.#compute(node)
    }
  }

  /** True if no direct dependency changed since the node was last right; the node is then clean. */
  #verify(node: Node<S>): boolean {
    node.state = 'busy'
    try {
      // Stop at the first that changed: what later reads would give may make no sense any more.
      for (const dependency of node.dependencies) {
        this.#refresh(dependency)
        if (dependency.changedAt > node.verifiedAt) {
          node.state = 'stale'
          return false
        }
      }
    } catch (error) {
      node.state = 'stale'
      throw error
    }
    this.#settle(node)
    return true
  }

  #compute(node: Node<S>): void {
    const { of } = node
    if (of.type === 'input') {
      node.value = of.read(this.#source, node.key)
      node.changedAt = this.#revision
    } else {
      const { value, dependencies } = this.#run(of, node)
      const changed = !node.hasValue || !of.equal(node.value, value)
      this.#counters.computed(of.name, changed)
      this.#link(node, dependencies)
      node.value = changed ? value : of.whenEqual(node.value, value)
      if (changed) node.changedAt = this.#revision
    }
    node.hasValue = true
    this.#settle(node)
  }

  #settle(node: Node<S>): void {
    node.verifiedAt = this.#revision
    node.state = 'clean'
    if (node.pins > 0) this.#outdated.get(node.of)?.delete(node)
  }

  #run(of: Query<S, unknown, unknown>, node: Node<S>): { value: unknown; dependencies: Dependencies<S> } {
    const frame: Frame<S> = { node, dependencies: new Dependencies(), failure: undefined, done: false }
    node.state = 'busy'
    this.#frames.push(frame)
    try {
      const value = of.compute(this.#contextOf(frame), node.key)
      // A computation that swallowed a failure would be cached without what failed among its reasons.
      if (frame.failure !== undefined) throw frame.failure.error
      return { value, dependencies: frame.dependencies }
    } finally {
      frame.done = true
      this.#frames.pop()
      node.state = 'stale'
    }
  }

  #contextOf(frame: Frame<S>): QueryContext<S> {
    return {
      get: (of, key) => {
        if (frame.done || this.#frames.at(-1) !== frame)
          throw new OsmError('OSM_QUERY_MISUSE', `${describeNode(frame.node)} reads outside of its own computation`)
        const dependency = this.#node(of, key)
        try {
          this.#refresh(dependency)
        } catch (error) {
          frame.failure ??= { error }
          throw error
        }
        frame.dependencies.add(dependency)
        return dependency.value as never
      },
    }
  }

  #link(node: Node<S>, dependencies: Dependencies<S>): void {
    const { list } = dependencies
    for (const before of node.dependencies) if (!dependencies.has(before)) this.#unlink(node, before)
    for (const dependency of list) addDependent(dependency, node)
    node.dependencies = list.slice()
  }

  #unlink(node: Node<S>, dependency: Node<S>): void {
    removeDependent(dependency, node)
    if (dependency.dependents === undefined && dependency.pins === 0) this.#unread.add(dependency)
  }

  #noteOutdated(node: Node<S>): void {
    const nodes = this.#outdated.get(node.of)
    if (nodes === undefined) this.#outdated.set(node.of, new Set([node]))
    else nodes.add(node)
  }

  #markDependents(changed: Node<S>): void {
    const pending: Node<S>[] = []
    eachDependent(changed, (dependent) => {
      if (dependent.state === 'clean') pending.push(dependent)
      dependent.state = 'stale'
      if (dependent.pins > 0) this.#noteOutdated(dependent)
    })
    const markUnverified = (dependent: Node<S>): void => {
      if (dependent.state !== 'clean') return
      dependent.state = 'unverified'
      if (dependent.pins > 0) this.#noteOutdated(dependent)
      pending.push(dependent)
    }
    for (let node = pending.pop(); node !== undefined; node = pending.pop()) eachDependent(node, markUnverified)
  }

  #cycle(node: Node<S>): OsmError {
    const names = this.#frames.map((frame) => describeNode(frame.node))
    const start = names.indexOf(describeNode(node))
    const path = [...names.slice(Math.max(start, 0)), describeNode(node)]
    return new OsmError('OSM_QUERY_CYCLE', `a query reads itself: ${path.join(' → ')}`, { details: { path } })
  }

  #refuseInside(operation: string): void {
    const frame = this.#frames.at(-1)
    if (frame === undefined) return
    throw new OsmError(
      'OSM_QUERY_MISUSE',
      `${describeNode(frame.node)} calls ${operation} on the engine; reads go through the context`,
    )
  }
}
