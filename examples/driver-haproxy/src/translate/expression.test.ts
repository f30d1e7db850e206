import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { type Pattern, patternsOf } from './expression.js'

function matches(pattern: Pattern, text: string): boolean {
  if (pattern.kind === 'equal') return text === pattern.text
  if (pattern.kind === 'steady') return inBytes(pattern.expression).test(Buffer.from(text).toString('latin1'))
  const { begin, end, least } = pattern
  return text.startsWith(begin) && text.endsWith(end) && Buffer.byteLength(text) >= least
}

const beyond = String.raw`[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}`
const any = String.raw`(?:[\x00-\x7f]|${beyond})`
const notSlash = String.raw`(?:[\x00-\x2e\x30-\x7f]|${beyond})`

/** Expressions of JavaScript keep what they have taken in assertions only. */
function inBytes(expression: string): RegExp {
  let groups = 0
  const kept = /(\[[^\]]*\]|\(\?:[^)]*\))([*+?]|\{[0-9]+(?:,[0-9]*)?\})\+/g
  return new RegExp(
    expression.replaceAll(kept, (_, one: string, count: string) => `(?=(${one}${count}))\\${(groups += 1)}(?:)`),
  )
}

/** Among the shortest texts that match, as far as that is easily told. */
function shortest(pattern: Pattern): string {
  if (pattern.kind === 'equal') return pattern.text
  return pattern.kind === 'between' ? pattern.begin + pattern.end : 'a'
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
    ['[^/]+?', [{ kind: 'steady', expression: `^${notSlash}++$` }]],
    ['a.b', [{ kind: 'steady', expression: String.raw`^[\x61]${any}[\x62]$` }]],
    ['[^/]+/[a-c]{2}', [{ kind: 'steady', expression: String.raw`^${notSlash}++[\x2f][\x61-\x63]{2}$` }]],
    ['.*[ab]', [{ kind: 'steady', expression: `^${any}*${String.raw`[\x61-\x62]`}$` }]],
    [
      '/v(1|\\d+)',
      [
        { kind: 'equal', text: '/v1' },
        { kind: 'steady', expression: String.raw`^[\x2f][\x76][\x30-\x39]++$` },
      ],
    ],
    ['é?', [{ kind: 'steady', expression: String.raw`^(?:\xc3\xa9){0,1}+$` }]],
  ])('%j is %j', (expression, patterns) => {
    expect(patternsOf(expression)).toEqual(patterns)
  })

  it.each([
    '(a+)+',
    '.*a.*',
    'a*a*b',
    '[ab]+[bc]+.',
    '[a(b)]',
    '[^a|b]',
    '[[:alpha:]]',
    '[]a]',
    '[b-a]',
    '[a-\\d]',
    '[\\W]',
    '[é]',
    'a{2',
    'a{3,2}',
    'a{256}',
    'a**',
    'a*+',
    '\\pL',
    '\\x41',
    '(a)(b)',
    '(?i)a',
    '(a|b)*',
    'a|^b',
    '\\',
    '(',
    ')',
    'a(?P<n>b)',
    'a$b',
    '.**',
  ])('leaves %j to engines', (expression) => {
    expect(patternsOf(expression)).toBeUndefined()
  })

  it('match what the expression matches as a whole, and nothing else', () => {
    // Letters that make near misses likely. Expressions are our own here, and short.
    const piece = fc.constantFrom(
      ...['a', 'b', '/', '\\.', '.', '.*', '.+', '|', '(', ')', 'ab', '^', '$'],
      ...['[^/]', '[ab]', '[a-c.]', '\\w', '?', '*', '+', '{2}', '{1,2}', '{2,}'],
    )
    const text = fc.array(fc.constantFrom('a', 'b', '/', '.', 'c'), { maxLength: 8 }).map((letters) => letters.join(''))
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 7 }).map((pieces) => pieces.join('')),
        fc.array(text, { maxLength: 10 }),
        (expression, texts) => {
          const patterns = patternsOf(expression)
          if (patterns === undefined) return
          const judge = new RegExp(`^(?:${expression})$`, 'su')
          for (const candidate of [...texts, ...patterns.map(shortest)])
            expect([candidate, patterns.some((pattern) => matches(pattern, candidate))]).toEqual([
              candidate,
              judge.test(candidate),
            ])
        },
      ),
      { numRuns: 1_000 },
    )
  })
})
