import { describe, expect, it } from '@jest/globals'

import { RegexRefused, regexTable } from '../regex/regex-table.js'
import { RegexTables } from './policy-reader.js'

describe('tables of expressions', () => {
  it('are made once, and equal to those that are made each time', () => {
    const tables = new RegexTables()
    const first = tables.table('/books/.*')
    expect(first).toEqual(regexTable('/books/.*'))
    expect(tables.table('/books/.*')).toBe(first)
  })

  it('are forgotten when there are too many, the one that was not requested longest first', () => {
    const tables = new RegexTables()
    const [first, second] = [tables.table('a'), tables.table('b')]
    tables.table('a')
    for (let i = 0; i < 511; i += 1) tables.table(`c${i}`)
    expect(tables.table('a')).toBe(first)
    expect(tables.table('b')).not.toBe(second)
  })

  it('are refused each time', () => {
    const tables = new RegexTables()
    for (let turn = 0; turn < 2; turn += 1) expect(() => tables.table('(a')).toThrow(RegexRefused)
  })
})
