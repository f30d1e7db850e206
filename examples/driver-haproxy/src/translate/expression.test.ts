import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { type Pattern, patternsOf } from './expression.js'

function matches(pattern: Pattern, text: string): boolean {
  if (pattern.kind === 'equal') return text === pattern.text
  const { begin, end, least } = pattern
  return text.startsWith(begin) && text.endsWith(end) && Buffer.byteLength(text) >= least
}

describe('expressions', () => {
  it.each([
    ['/books', [{ kind: 'equal', text: '/books' }]],
    ['^/books$', [{ kind: 'equal', text: '/books' }]],
    ['/a\\.b', [{ kind: 'equal', text: '/a.b' }]],
    ['/books/.*', [{ kind: 'between', begin: '/books/', end: '', least: 7 }]],
    ['.+-new', [{ kind: 'between', begin: '', end: '-new', least: 5 }]],
    [
      '/x(/a|/b.*)',
      [
        { kind: 'equal', text: '/x/a' },
        { kind: 'between', begin: '/x/b', end: '', least: 4 },
      ],
    ],
    [
      'a|b',
      [
        { kind: 'equal', text: 'a' },
        { kind: 'equal', text: 'b' },
      ],
    ],
    ['', [{ kind: 'equal', text: '' }]],
  ])('%j is %j', (expression, patterns) => {
    expect(patternsOf(expression)).toEqual(patterns)
  })

  it.each([
    '(a+)+',
    'a*',
    'a.b',
    '[ab]',
    '\\d+',
    'a{2}',
    '.*a.*',
    '(a)(b)',
    '(?i)a',
    '(a|b)*',
    'a|^b',
    '\\',
    '(',
    ')',
    'a(?P<n>b)',
    '.*?',
    'a$b',
    '.**',
  ])('leaves %j to engines', (expression) => {
    expect(patternsOf(expression)).toBeUndefined()
  })

  it('match what the expression matches as a whole, and nothing else', () => {
    // Letters that make near misses likely. Expressions are our own here, and short.
    const piece = fc.constantFrom('a', 'b', '/', '\\.', '.*', '.+', '|', '(', ')', 'ab', '^', '$')
    const text = fc.array(fc.constantFrom('a', 'b', '/', '.', 'c'), { maxLength: 8 }).map((letters) => letters.join(''))
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 7 }).map((pieces) => pieces.join('')),
        fc.array(text, { maxLength: 10 }),
        (expression, texts) => {
          const patterns = patternsOf(expression)
          if (patterns === undefined) return
          const judge = new RegExp(`^(?:${expression})$`, 's')
          for (const candidate of [
            ...texts,
            ...patterns.map((pattern) => (pattern.kind === 'equal' ? pattern.text : pattern.begin + pattern.end)),
          ])
            expect([candidate, patterns.some((pattern) => matches(pattern, candidate))]).toEqual([
              candidate,
              judge.test(candidate),
            ])
        },
      ),
      { numRuns: 2_000 },
    )
  })
})
