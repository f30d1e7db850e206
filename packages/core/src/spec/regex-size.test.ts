import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { RE2JS } from 're2js'

import { maxProgramSize } from './pattern.js'
import { measureRegex } from './regex-size.js'
import { unicodeClassNames } from './unicode-classes.js'

/** Texts that are often expressions, and often nearly one. */
function nearlyExpressions(): fc.Arbitrary<string> {
  const piece = fc.oneof(
    fc.constantFrom(...'ab(|)[]{}*+?.^$\\1,-:dwQEpxPiszU_<>=!0é \n'.split('')),
    fc.constantFrom(
      '(?:',
      '(?i)',
      '(?i:',
      '(?-s)',
      '(?P<n>',
      '(?<m>',
      '(?P<',
      '\\pL',
      '\\PN',
      '\\p{Greek}',
      '\\p{^Lu}',
      '\\Q',
      '\\E',
    ),
    fc.constantFrom(
      '[[:alpha:]]',
      '[[:^digit:]]',
      '[^',
      '[a-',
      '\\x{ff}',
      '\\x41',
      '\\x',
      '\\123',
      '\\d',
      '\\S',
      '\\b',
      '\\z',
    ),
    fc.constantFrom('{2}', '{2,}', '{2,3}', '{1001}', '{3,2}', '{01}', '{500}', '{0}', '(a){', '*?', '??'),
  )
  return fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
}

/** Valid expressions of every construct, with counts that add up. */
function expressions(): fc.Arbitrary<string> {
  const atom = fc.constantFrom(
    ...[
      'a',
      'é',
      '😀',
      '.',
      '\\d',
      '\\W',
      '\\pL',
      '\\p{Greek}',
      '\\PS',
      '[a-z0-9_-]',
      '[^/]',
      '[^é-ü]',
      '[\\pL\\pN]',
      '[[:punct:]x]',
      '^',
      '$',
      '\\b',
    ],
    ...['(?:)', '()', '\\Qa.b\\E', '\\x{b1}', '/api/v1', '(?i:stra\\x{df}e)', '(?i:[k-s])', '(?i:\\pL)'],
  )
  const count = fc.constantFrom(
    '*',
    '+',
    '?',
    '*?',
    '{0}',
    '{1}',
    '{2}',
    '{0,3}',
    '{3,}',
    '{0,}',
    '{7,9}',
    '{30}',
    '{0,40}',
  )
  const { expression } = fc.letrec<{ expression: string }>((tie) => ({
    expression: fc.oneof(
      { maxDepth: 5 },
      atom,
      fc.tuple(tie('expression'), tie('expression')).map(([x, y]) => `${x}${y}`),
      fc.tuple(tie('expression'), tie('expression')).map(([x, y]) => `(?:${x}|${y})`),
      fc
        .tuple(tie('expression'), fc.constantFrom('(', '(?:', '(?i:', '(?s:'), count)
        .map(([x, open, n]) => `${open}${x})${n}`),
    ),
  }))
  return expression
}

function compiled(pattern: string): number | undefined {
  try {
    return RE2JS.compile(pattern).programSize()
  } catch {
    return undefined
  }
}

describe('measureRegex', () => {
  it('takes what the compiler takes, and nothing else', () => {
    fc.assert(
      fc.property(fc.oneof(nearlyExpressions(), expressions(), fc.string({ maxLength: 20 })), (pattern) => {
        const measured = measureRegex(pattern)
        // The compiler reads characters, Envoy's engine bytes.
        if (!measured.valid && measured.reason.includes('are bytes')) return
        expect(measured.valid).toBe(compiled(pattern) !== undefined)
      }),
      { numRuns: 3000 },
    )
  })

  it('never finds an expression smaller than the program that the compiler makes of it', () => {
    fc.assert(
      fc.property(expressions(), (pattern) => {
        const measured = measureRegex(pattern)
        // Compiling more than this is what measuring is there to spare everybody.
        if (!measured.valid || measured.programSize > 4 * maxProgramSize) return
        expect(measured.programSize).toBeGreaterThanOrEqual(compiled(pattern) ?? Infinity)
      }),
      { numRuns: 1500 },
    )
  })

  it.each([
    ['', 9],
    ['/', 9],
    ['/books/[0-9]+', 18],
    ['[a-cb-f]', 9],
    ['[^+.-/]', 11],
    ['(?i)[a-z]', 10],
    ['a{1000}', 1008],
    ['a{0,1000}', 2008],
    ['(a{10}){10}', 128],
    ['(?:(?:a?){30}){30}', 1808],
  ])('counts the instructions of %s', (pattern, programSize) => {
    expect(measureRegex(pattern)).toEqual({ valid: true, programSize })
  })

  it.each([
    ['(', 'missing closing ), at character 1'],
    ['a)', 'unexpected ), at character 2'],
    ['ab[c', 'missing closing ], at character 3'],
    ['*', 'missing argument of a repetition'],
    ['a**', 'repeated without a group'],
    ['a{1001}', 'invalid repeat count'],
    ['(a{100}){100}', 'above 1000'],
    ['(?=look)', 'invalid or unsupported group'],
    ['(?P<n>a)(?P<n>b)', 'duplicate name'],
    ['(a)\\1', 'invalid escape sequence'],
    ['a\\', 'trailing backslash'],
    ['[z-a]', 'invalid character class range'],
    ['\\p{Klingon}', 'invalid character class range'],
    ['\\x{100}', 'paths and headers are bytes'],
    ['[\\x{0}-\\x{10ffff}]', 'paths and headers are bytes'],
    ['\\400', 'paths and headers are bytes'],
  ])('says what is wrong with %s', (pattern, reason) => {
    expect(measureRegex(pattern)).toMatchObject({ valid: false, reason: expect.stringContaining(reason) })
  })

  it('has room for what people write', () => {
    for (const pattern of [
      '/.*',
      '/api/v[0-9]+/(users|orders|invoices)/[A-Za-z0-9_-]{1,64}(/.*)?',
      '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
      '(?i)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,63}',
      '[^/]{1,255}/[^/]{1,255}',
      '(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)(?:\\.(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)){3}',
      '^(?:https?://)?[\\w.-]+(?::\\d{1,5})?(?:/[\\w./?%&=+-]*)?$',
      '/[\\p{L}\\p{N}]{1,30}',
      Array.from({ length: 60 }, (_, index) => `/path-${index}/[a-z]+`).join('|'),
      'Bearer [A-Za-z0-9._~+/-]{20,500}=*',
    ]) {
      const measured = measureRegex(pattern)
      expect(measured.valid && measured.programSize).toBeGreaterThan(0)
      expect(measured.valid ? measured.programSize : Infinity).toBeLessThanOrEqual(maxProgramSize)
    }
  })

  it('knows the classes of Unicode that the compiler knows', () => {
    for (const name of unicodeClassNames()) expect([name, compiled(`\\p{${name}}`) !== undefined]).toEqual([name, true])
  })
})
