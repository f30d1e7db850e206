import { RE2JS } from 're2js'

import { translateMatch } from '../../packages/core/src/catalog/policy/routing/route-match.js'
import { PatternChecker } from '../../packages/core/src/spec/pattern.js'
import { RegexRefused, regexTable } from '../../packages/driver-pipy/src/regex/regex-table.js'
import type { RegexTable } from '../../packages/driver-pipy/src/config/types.js'
import { type FuzzTarget, invariant, textOf } from '../fuzz-target.js'

const words = [
  '(?i)',
  '(?s:',
  '[[:alpha:]]',
  '\\pN',
  '\\x{10ffff}',
  '{0,1000}',
  '(?:',
  '\\b',
  '|',
  '.*',
  '^',
  '$',
  '[^a]',
  '\\Q',
  '\\E',
  '*?',
  '++',
]

/** Texts that differ in what expressions tell apart. */
const probes = ['', '/', '/books', 'BOOKS', 'a', 'aa', '\n', 'a\nb', '\u017f', '\u{1f600}', '/books?id=1', ' a', '_']

/** As the script of the sidecar reads a table. */
function tableAccepts({ bounds, next, accepts }: RegexTable, text: string): boolean {
  let state = 0
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    const column = bounds.findLastIndex((bound) => bound <= code)
    state = next[state]?.[column] ?? -1
    if (state < 0) return false
  }
  return accepts[state] === 1
}

/** Expressions of users in HTTPRouteGroups and Egresses. */
export const expressionTargets: readonly FuzzTarget[] = [
  {
    name: 'expression',
    about:
      'Expressions of route groups: never thrown for, checked the same way by the translation of a match, and a reason for each refusal.',
    form: 'text',
    words,
    budgetMs: 150,
    run: (input) => {
      const pattern = textOf(input)
      const facts = new PatternChecker().check(pattern)
      const translated = translateMatch({ name: 'all', pathRegex: pattern, methods: ['*'] })
      invariant(translated.ok === facts.valid, 'the check and the translation disagree about an expression')
      if (!facts.valid)
        invariant(facts.reason.length > 0 && facts.reason.length < 4096, 'a refusal without a short reason')
      return facts
    },
  },
  {
    name: 'expression-table',
    about: 'Tables of expressions for class pipy: bounded, and they accept exactly the texts that RE2 matches.',
    form: 'text',
    words,
    maxBytes: 256,
    budgetMs: 2000,
    run: (input) => {
      const pattern = textOf(input)
      const facts = new PatternChecker().check(pattern)
      // The driver is given checked expressions only.
      if (!facts.valid) return facts
      let table: RegexTable
      try {
        table = regexTable(pattern)
      } catch (error) {
        if (!(error instanceof RegexRefused)) throw error
        return { refused: error.message }
      }
      const compiled = RE2JS.compile(pattern)
      for (const text of [...probes, pattern])
        if (!/\p{Surrogate}/u.test(text))
          invariant(
            tableAccepts(table, text) === compiled.matches(text),
            `the table and RE2 disagree about ${JSON.stringify(text)}`,
          )
      return { states: table.next.length, bounds: table.bounds.length }
    },
  },
]
