import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { stringify } from 'yaml'

import type { FieldPath } from '../field-path.js'
import { readPlainDocument } from './plain-document.js'
import type { SyntaxTree } from './syntax-tree.js'
import { YamlTree } from './yaml-tree.js'

const FIRST_LINE = 7
const from = (text: string): { readonly text: string; readonly line: number } => ({ text, line: FIRST_LINE })

/** Paths of all parts of a value, and of some that it does not have. */
function pathsOf(value: unknown, base: FieldPath = []): readonly FieldPath[] {
  const parts: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? value.map((item, index) => [index, item] as const)
    : Object.entries(value ?? {})
  const missing = [...base, Array.isArray(value) ? parts.length : 'missing']
  const inner = typeof value === 'object' ? parts.flatMap(([name, part]) => pathsOf(part, [...base, name])) : []
  return [base, missing, ...inner]
}

const placesIn = (tree: SyntaxTree, paths: readonly FieldPath[]): readonly unknown[] =>
  paths.map((path) => [path, tree.locate(path), tree.sourceText(path)])

/** Whether the text is plain; if so, the library must read it alike. */
function isReadAlike(text: string): boolean {
  const plain = readPlainDocument(from(text))
  if (plain === undefined) return false
  const library = new YamlTree(from(text))
  expect({ text, value: plain.value, faults: [] }).toEqual({ text, ...library.read() })
  const paths = pathsOf(plain.value)
  expect(placesIn(plain, paths)).toEqual(placesIn(library, paths))
  return true
}

const key = fc.oneof(
  fc.constantFrom('name', 'spec', 'app.kubernetes.io/name', 'true', 'null', 'constructor', 'toString', 'a-b', 'x'),
  fc.stringMatching(/^[A-Za-z0-9_. /<~-]{1,6}$/),
)
const scalar = fc.oneof(
  fc.constantFrom(
    'true',
    'True',
    'no',
    'null',
    '~',
    '',
    '0',
    '-0',
    '+1',
    '010',
    '0x1f',
    '0o7',
    '1e3',
    '.5',
    '5.',
    '.inf',
    '.NaN',
  ),
  fc.constantFrom(
    '1.2.3',
    '10.0.0.0/8',
    '-1',
    '--',
    '-a',
    '.*',
    '/a/.*',
    '^a$',
    'a: b',
    'a:b',
    'a:',
    'a #b',
    'a#b',
    '*a',
    '&a',
  ),
  fc.constantFrom(
    '- a',
    '[a]',
    '{}',
    'a, b',
    "it's",
    '"',
    'a"b',
    '|',
    '>-',
    '!a',
    '%a',
    '@a',
    '`a',
    '? a',
    '=',
    '<<',
    '1_000',
  ),
  fc.string({ maxLength: 8 }),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
)
/** Documents of such keys and scalars. */
function documentsOf(keys: fc.Arbitrary<string>, scalars: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.letrec<{ value: unknown; document: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      scalars,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(keys, tie('value'), { maxKeys: 3 }),
    ),
    document: fc.dictionary(keys, tie('value'), { minKeys: 1, maxKeys: 4 }),
  })).document
}
/** Half of them are as most people write them, so that many are plain whatever the seed is. */
const document = fc.oneof(
  documentsOf(key, scalar),
  documentsOf(
    fc.constantFrom('name', 'spec', 'app.kubernetes.io/name', 'a-b', 'x'),
    fc.constantFrom('store', '10.0.0.0/8', '/a/.*', '-1', '1.2.3', 'a: b', 'true', 8080, true, null),
  ),
)
/** What may be put into a document at any place, or in place of what is there. */
const fragment = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '  ',
    '\n',
    '\n ',
    '\n  ',
    '- ',
    '-',
    ':',
    ': ',
    ' #',
    '#',
    '"',
    "'",
    '&a1',
    '*a1',
    '&a1\n',
    '|',
    '>',
  ),
  fc.constantFrom(
    '{',
    '}',
    '[]',
    '{}',
    ',',
    '\t',
    '\r',
    '\\',
    '---',
    '\n---\n',
    '...',
    '%',
    '!',
    '? ',
    '<<: ',
    '~',
    '.',
    '0',
    'a: b\n',
  ),
  fc.string({ maxLength: 2 }),
)
const edit = fc.record({
  at: fc.nat({ max: 10_000 }),
  removed: fc.nat({ max: 3 }),
  inserted: fc.array(fragment, { maxLength: 3 }),
})

describe('a document of the plain form', () => {
  it.each([
    ['as kubectl writes it', 'a:\n- b: 1\n  c: true\n- d\ne: {}\nf: []\ng:\nh: "1"\n'],
    ['with comments and blank lines', '# a\n\na:\n  # b\n  b: x\n# c\n\n  c: y\n'],
    ['with sequences further to the right', 'a:\n    - b: x\n      c:\n      - y\n    -   d: z\n'],
    ['after a marker', '---\na: x\n'],
    ['with shared values', 'a: &a1\n  b: x\nc: *a1\nd:\n  - *a1\n  - e: *a1\n'],
    ['with words that are not numbers', 'a: 1.2.3\nb: 10.0.0.0/8\nc: v1\nd: 1m\ne: -a\nf: .*\ng: a:b#c\n'],
    ['without a line end', 'a: x'],
  ])('%s is read as the library reads it', (_case, text) => {
    expect(isReadAlike(text)).toBe(true)
  })

  it.each([
    ['a value of several lines', 'a: x\n  y\n'],
    ['a block scalar', 'a: |\n  b: c\n'],
    ['a key that is written twice', 'a: x\na: y\n'],
    ['a comment behind a value', 'a: x # y\n'],
    ['an escape', 'a: "\\n"\n'],
    ['characters beyond ASCII', 'a: \u00E4\n'],
    ['a tab', 'a:\tx\n'],
    ['an unusual number', 'a: 1e3\n'],
    ['a merge', 'a: &a1\n  b: x\nc:\n  <<: *a1\n'],
    ['an unknown alias', 'a: *a1\n'],
    ['an alias in a shared value', 'a: &a1\n  b: x\nc: &a2\n  d: *a1\n'],
    [
      'values that are shared too often',
      `a: &a1\n  b: x\n${Array.from({ length: 21 }, (_, n) => `c${n}: *a1\n`).join('')}`,
    ],
    ['a line too far to the left', 'a:\n    b: x\n  c: y\n'],
    ['a sequence alone', '- a\n'],
    ['nesting without end', Array.from({ length: 60 }, (_, n) => `${' '.repeat(n)}a:\n`).join('')],
    ['nothing', '---\n'],
  ])('is not one with %s', (_case, text) => {
    expect(readPlainDocument(from(text))).toBeUndefined()
  })

  it('is read alike where it was written by the library', () => {
    const read = { plain: 0, all: 0 }
    fc.assert(
      fc.property(document, fc.boolean(), fc.constantFrom(2, 4), (value, indentSeq, indent) => {
        read.all += 1
        if (isReadAlike(stringify(value, { indentSeq, indent, lineWidth: 0 }))) read.plain += 1
      }),
      { numRuns: 2000 },
    )
    expect(read.plain).toBeGreaterThan(read.all / 5)
  })

  it('is read alike after any edit, or left to the library', () => {
    const read = { plain: 0, all: 0 }
    fc.assert(
      fc.property(document, fc.array(edit, { minLength: 1, maxLength: 3 }), (value, edits) => {
        const text = edits.reduce((before, { at, removed, inserted }) => {
          const place = at % (before.length + 1)
          return before.slice(0, place) + inserted.join('') + before.slice(place + removed)
        }, stringify(value))
        read.all += 1
        if (isReadAlike(text)) read.plain += 1
      }),
      { numRuns: 5000 },
    )
    expect(read.plain).toBeGreaterThan(read.all / 25)
  })
})
