import { type PartLookup, PolicyReader as Reader } from '@osm-ts/driver-api/policy'

import type { RegexTable } from '../config/types.js'
import { regexTable } from '../regex/regex-table.js'

/** Tables that are kept: those that were requested last. The largest has 40,000 entries. */
const MAX_TABLES = 512

/** Tables of expressions. One that was made is given again, because making it takes a thousand times as long. */
export class RegexTables {
  /** The one that was requested last is the last one. */
  readonly #known = new Map<string, RegexTable>()

  /** @throws RegexRefused if there is none */
  table(pattern: string): RegexTable {
    const table = this.#known.get(pattern) ?? regexTable(pattern)
    this.#known.delete(pattern)
    this.#known.set(pattern, table)
    const [first] = this.#known.keys()
    if (this.#known.size > MAX_TABLES && first !== undefined) this.#known.delete(first)
    return table
  }
}

/** Reads the parts of one proxy's policy. Expressions, which many proxies share, become tables once. */
export class PolicyReader extends Reader {
  readonly regexes: RegexTables

  constructor(parts: PartLookup, regexes: RegexTables) {
    super(parts)
    this.regexes = regexes
  }
}
