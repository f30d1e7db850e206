/** What istanbul counts in one file: functions, statements and branches by number. */
interface FileCounters {
  readonly f: Record<string, number>
  readonly s: Record<string, number>
  readonly b: Record<string, number[]>
}

/** A group of counters, and which magnitudes each has had, as bits. */
interface Group {
  readonly counters: Record<string, number> | number[]
  readonly keys: readonly string[]
  readonly seen: Uint16Array
}

interface InstrumentedFile {
  readonly functions: Group
  readonly groups: readonly Group[]
}

/** The counters of instrumented code. Tells inputs that reach something new from those that do not. */
export class Coverage {
  readonly #files: readonly InstrumentedFile[]
  #reached = 0

  /** @param counters - the coverage variable of istanbul; without it nothing is ever new */
  constructor(counters: Readonly<Record<string, FileCounters>> = {}) {
    this.#files = Object.values(counters).map(({ f, s, b }) => ({
      functions: groupOf(f),
      groups: [groupOf(s), ...Object.values(b).map(groupOf)],
    }))
  }

  /** Statements and branches that were reached, each once for every magnitude of how often. */
  get reached(): number {
    return this.#reached
  }

  /** True if something was reached since the last call that never was before, or ten times as often. Resets the counters. */
  takeNew(): boolean {
    const before = this.#reached
    for (const { functions, groups } of this.#files) {
      // Most files take no part in what most inputs do.
      if (!reset(functions)) continue
      for (const group of groups) this.#reached += take(group)
    }
    return this.#reached > before
  }
}

function groupOf(counters: Record<string, number> | number[]): Group {
  const keys = Object.keys(counters)
  return { counters, keys, seen: new Uint16Array(keys.length) }
}

function reset({ counters, keys }: Group): boolean {
  let any = false
  const values = counters as Record<string, number>
  for (const key of keys)
    if (values[key] !== 0) {
      any = true
      values[key] = 0
    }
  return any
}

function take({ counters, keys, seen }: Group): number {
  let found = 0
  const values = counters as Record<string, number>
  for (let at = 0; at < keys.length; at += 1) {
    const key = keys[at] ?? ''
    const count = values[key] ?? 0
    if (count === 0) continue
    values[key] = 0
    const bit = 1 << Math.min(6, Math.ceil(Math.log10(count)))
    const known = seen[at] ?? 0
    if ((known & bit) !== 0) continue
    seen[at] = known | bit
    found += 1
  }
  return found
}
