import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { RE2JS } from 're2js'

import { matchesTable } from '../../codebase/regex.js'
import type { RegexTable } from '../config/types.js'
import { RegexRefused, regexTable } from './regex-table.js'

const patterns = [
  '.*a-book.*new',
  '(a|ab)*c',
  '/books/[0-9]{1,3}',
  '(?i)straße|k',
  String.raw`\bfoo\b.*`,
  String.raw`a\Bb|a b`,
  '(?m)^a$|^b\nc$',
  '(?s).*',
  '[^/]+(/[^/]+)*',
  String.raw`\p{Greek}+x?`,
  '',
  '(a?){20}a{20}',
  String.raw`\d+\.\w*$`,
]

/** Texts made of what the patterns speak of, so that they come near to matching. */
const text = fc.string({
  unit: fc.constantFrom(
    ...Array.from('abck/ 0129.-\nxfo_'),
    'foo',
    'book',
    'new',
    'ß',
    'S',
    's',
    'ſ',
    'K',
    'K',
    'α',
    '\u{10437}',
  ),
  maxLength: 24,
})

/** As the sidecar has it, whose characters are code points. */
function matches(table: RegexTable, value: string): boolean {
  const codes = Array.from(value, (character) => character.codePointAt(0) ?? 0)
  return matchesTable(table, { length: codes.length, charCodeAt: (i: number) => codes[i] ?? 0 })
}

describe('automata of expressions', () => {
  it.each(patterns)('of %j take what RE2 takes', (pattern) => {
    const re2 = RE2JS.compile(pattern)
    const table = regexTable(pattern)
    fc.assert(
      fc.property(text, (value) => {
        expect([value, matches(table, value)]).toEqual([value, re2.matches(value)])
      }),
    )
  })

  it('take long texts in one go, whatever the expression', () => {
    const table = regexTable('(a+)+')
    expect(matches(table, `${'a'.repeat(100_000)}b`)).toBe(false)
    expect(matches(table, 'a'.repeat(100_000))).toBe(true)
  })

  it.each(['.*a.{20}', '(', String.raw`(a)\1`])('of %j are refused', (pattern) => {
    expect(() => regexTable(pattern)).toThrow(RegexRefused)
  })

  it('are the same each time', () => {
    for (const pattern of patterns) expect(regexTable(pattern)).toEqual(regexTable(pattern))
  })
})
