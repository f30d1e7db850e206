import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { RE2JS } from 're2js'

import { PatternChecker } from './pattern.js'
import { canBacktrackBadly } from './regex-cost.js'

describe('canBacktrackBadly', () => {
  it.each([
    '(a+)+',
    '(a*)*b',
    '^(\\w+\\s?)*$',
    '(a|a)*',
    '(a|ab)*c',
    '(a?)*',
    '(.*)*',
    '(?:[a-z]+){2,}',
    '([a-zA-Z]+)*',
    '(a|[ab])+',
    '((ab)+)+',
    '.*.*.*.*=.*',
    '\\d*\\d*\\d*\\d*x',
    '(a{0,50})*',
    '(?i)(a|A)*',
    '(x|)*',
    '(\\Qa\\E+)+',
    '([[:alpha:]]+)*',
    '(\\p{L}+)*',
    '(a+){20}',
    '(.*.*)(.*.*)',
    '(.*){4}',
  ])('finds %s costly', (pattern) => {
    expect(canBacktrackBadly(pattern)).toBe(true)
  })

  it.each([
    '.*',
    '/books.*',
    '/books/\\d+/(chapters|pages)/\\d+',
    '(/[^/]+)*',
    '(\\d+/)*',
    '(?:[a-z]+,)*[a-z]+',
    '(a|b)*',
    '(get|post)+',
    '[a-z]+@[a-z]+',
    '^(.*?;)?(type=insider)(;.*)?$',
    '.*Android.*Mobile.*',
    '(ab)*',
    '(a|b|c){3}',
    '\\Q(a+)+\\E',
    '[(]+a',
    '(a+){2}',
    'v[0-9]+\\.[0-9]+\\.[0-9]+',
    '',
    '(?P<id>[a-f0-9]{8})',
    '[\\]a]+x',
  ])('finds %s harmless', (pattern) => {
    expect(canBacktrackBadly(pattern)).toBe(false)
  })

  it('ends for every text, and in time that grows with its length', () => {
    const characters = fc.constantFrom(...'ab(|)[]{}*+?.^$\\1,-:dwQEpx'.split(''))
    fc.assert(
      fc.property(fc.array(characters, { maxLength: 60 }), (parts) => {
        expect(typeof canBacktrackBadly(parts.join(''))).toBe('boolean')
      }),
      { numRuns: 2000 },
    )
  })

  it('never calls harmless what takes a backtracking engine long', () => {
    // Small expressions over two letters, run by the engine of the platform on the texts that hurt most.
    const atom = fc.constantFrom('a', 'b', '[ab]', '.', 'ab')
    const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
      pattern: fc.oneof(
        { maxDepth: 4 },
        atom,
        fc.tuple(tie('pattern'), tie('pattern')).map(([x, y]) => `${x}${y}`),
        fc.tuple(tie('pattern'), tie('pattern')).map(([x, y]) => `(${x}|${y})`),
        fc.tuple(tie('pattern'), fc.constantFrom('*', '+', '?')).map(([x, q]) => `(${x})${q}`),
      ),
    }))
    fc.assert(
      fc.property(pattern, (text) => {
        if (canBacktrackBadly(text)) return
        const expression = new RegExp(`^(?:${text})$`)
        // Longer and longer, so that an explosion is seen before it takes forever.
        for (const length of [8, 12, 16, 20, 24])
          for (const unit of ['a', 'b', 'ab', 'ba']) {
            const subject = `${unit.repeat(length / unit.length)}!`
            // Milliseconds of processor time: the machine may be busy with something else. So may this process, and so the cheapest of some runs counts.
            let took = Infinity
            for (let run = 0; run < 5 && took > 50; run += 1) {
              const before = process.cpuUsage()
              expression.test(subject)
              took = Math.min(took, process.cpuUsage(before).user / 1000)
            }
            if (took > 50) throw new Error(`/${text}/ took ${took} ms for ${subject}`)
          }
      }),
      { numRuns: 1000 },
    )
  })
})

describe('PatternChecker', () => {
  const checker = new PatternChecker()

  it('takes RE2 syntax', () => {
    expect(checker.check('/books/(?P<id>\\d+)')).toEqual({ valid: true, programSize: 25 })
    expect(checker.isCostly('/books/(?P<id>\\d+)')).toBe(false)
    expect(checker.isCostly('(a+)+$')).toBe(true)
  })

  it.each([
    ['(', 'missing'],
    ['(?=look)', 'invalid'],
    ['(a)\\1', 'invalid escape'],
    ['a{1001}', 'repeat'],
    ['[z-a]', 'range'],
  ])('refuses %s', (pattern, reason) => {
    expect(checker.check(pattern)).toMatchObject({ valid: false, reason: expect.stringContaining(reason) })
  })

  it('refuses what is too long, or small and huge', () => {
    expect(checker.check('a'.repeat(1025))).toMatchObject({ valid: false, reason: expect.stringContaining('1025') })
    expect(checker.check('((a{100}){100}){10}')).toMatchObject({ valid: false })
    expect(checker.check('a{0,1000}a{0,1000}')).toMatchObject({ valid: true })
    const reason = 'stands for a program of up to 6008 instructions; at most 4096 are taken: repeat less often'
    expect(checker.check('a{0,1000}a{0,1000}a{0,1000}')).toEqual({ valid: false, reason })
  })

  it('agrees with RE2 on what is an expression', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 20 }), (pattern) => {
        let compiles = true
        try {
          RE2JS.compile(pattern)
        } catch {
          compiles = false
        }
        expect(checker.check(pattern).valid).toBe(compiles)
      }),
    )
  })
})
