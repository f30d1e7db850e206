/** Values that are remembered; when there are more, all are forgotten and the next ones are remembered instead. */
const CAPACITY = 20_000

/**
 * Gives equal values one place in memory. Replicas of a workload differ in little more than their names, and a mesh holds
 * many: without this each would have its own copy of their labels, ports and account.
 */
export class Deduplicator {
  readonly #capacity: number
  readonly #texts = new Map<string, string>()
  readonly #values = new Map<string, unknown>()

  constructor(capacity = CAPACITY) {
    this.#capacity = capacity
  }

  /** The text itself, or an equal one that came before. */
  text(text: string): string {
    return remember(this.#texts, text, () => text, this.#capacity)
  }

  /**
   * A frozen value that equals the given one.
   *
   * @param value - JSON whose members are in a fixed order
   */
  value<T extends object>(value: T): T {
    // Equal text was made from an equal value of the same form.
    return remember(this.#values, JSON.stringify(value), () => freezeDeep(value), this.#capacity) as T
  }
}

function remember<V>(map: Map<string, V>, key: string, make: () => V, capacity: number): V {
  const known = map.get(key)
  if (known !== undefined) return known
  if (map.size >= capacity) map.clear()
  const made = make()
  map.set(key, made)
  return made
}

function freezeDeep<T>(value: T): T {
  if (value === null || typeof value !== 'object') return value
  for (const member of Object.values(value)) freezeDeep(member)
  return Object.freeze(value)
}
