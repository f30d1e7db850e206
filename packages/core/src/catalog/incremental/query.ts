/** What a computation may do: read other values. Every read is recorded, and that is how the engine knows what to compute again. */
export interface QueryContext<S> {
  /** The value of an input or of another query. Valid only while the computation that got this context runs. */
  get<K, V>(of: Readable<S, K, V>, key: K): V
}

interface Common<K, V> {
  /** Unique within an engine; the key of its counters. */
  readonly name: string
  /** Text form of a key; equal keys have equal text. */
  readonly keyOf: (key: K) => string
  /** True if a reader of `before` would compute the same from `after`. */
  readonly equal: (before: V, after: V) => boolean
}

/** A value that comes from outside: the engine reads it from the source and is told when to look again. */
export interface Input<S, K, V> extends Common<K, V> {
  readonly type: 'input'
  readonly read: (source: S, key: K) => V
}

/**
 * A value computed from other values. `compute` must be a pure function of what it reads through the context: no clock, no random, no state, no I/O.
 */
export interface Query<S, K, V> extends Common<K, V> {
  readonly type: 'query'
  readonly compute: (context: QueryContext<S>, key: K) => V
  /**
   * What stays when the newer value equals the older one. By default the older one does, so that whatever refers to it goes on sharing it. A value that
   * carries something which readers must not depend on, but which should be fresh, can take it over from the newer one here.
   */
  readonly whenEqual: (before: V, after: V) => V
}

/** Anything that can be read. */
export type Readable<S, K, V> = Input<S, K, V> | Query<S, K, V>

type Optional<T, K extends keyof T> = Omit<T, K | 'type'> & Partial<Pick<T, K>>

/** `keyOf` of keys that are text themselves. */
export function textKey(key: string): string {
  return key
}

function keepBefore<V>(before: V): V {
  return before
}

/** Declares an input. Values are compared by identity unless `equal` says otherwise. */
export function defineInput<S, K, V>(definition: Optional<Input<S, K, V>, 'equal'>): Input<S, K, V> {
  return { equal: Object.is, ...definition, type: 'input' }
}

/** Declares a query. Values are compared by identity unless `equal` says otherwise. */
export function defineQuery<S, K, V>(definition: Optional<Query<S, K, V>, 'equal' | 'whenEqual'>): Query<S, K, V> {
  return { equal: Object.is, whenEqual: keepBefore, ...definition, type: 'query' }
}
