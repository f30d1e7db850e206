import { type PartLookup, PolicyReader as Reader } from '@osm-ts/driver-api/policy'

import type { RegexTables } from '../regex/regex-tables.js'

/** Reads the parts of one proxy's policy. Expressions, which many proxies share, become tables once. */
export class PolicyReader extends Reader {
  readonly regexes: RegexTables

  constructor(parts: PartLookup, regexes: RegexTables) {
    super(parts)
    this.regexes = regexes
  }
}
