import { describe, expect, it } from '@jest/globals'

import { configDump } from '../../codebase/config-pages.js'
import { matchesTable } from '../../codebase/regex.js'

describe('the dump of a configuration', () => {
  it('has expressions as they came, and no keys', () => {
    const regex = { bounds: [0, 97, 98], next: [[-1, 0, -1]], accepts: [1] }
    const config = { called: [{ match: { regex } }], credentials: { privateKey: 'secret' } }
    expect([matchesTable(regex, 'aaa'), matchesTable(regex, 'ab'), matchesTable(regex, 'aaa')]).toEqual([
      true,
      false,
      true,
    ])
    expect(JSON.parse(configDump(config))).toEqual({
      called: [{ match: { regex: { bounds: [0, 97, 98], next: [[-1, 0, -1]], accepts: [1] } } }],
    })
  })
})
