import { describe, expect, it } from '@jest/globals'
import { findMistakes, renderMeanings, renderReference } from './error-reference.mjs'
import { readErrors } from './error-tables.mjs'

const table = `/** Codes of the
 * harbour. */
export const harbourErrorCodes = {
  OSM_HARBOUR_FULL: 'no berth is free',
  OSM_HARBOUR_CLOSED: 'the harbour is closed | ' + 'come tomorrow',
} as const
`

describe('readErrors', () => {
  it('reads codes and meanings, and the comment above them', () => {
    expect(readErrors('packages/harbour/src/errors.ts', table).tables).toEqual([
      {
        file: 'packages/harbour/src/errors.ts',
        title: 'Codes of the harbour.',
        entries: [
          { code: 'OSM_HARBOUR_FULL', meaning: 'no berth is free' },
          { code: 'OSM_HARBOUR_CLOSED', meaning: 'the harbour is closed | come tomorrow' },
        ],
      },
    ])
  })

  it('looks at exported tables only', () => {
    expect(readErrors('a.ts', table.replace('export ', '')).tables).toEqual([])
    expect(readErrors('a.ts', table.replace('harbourErrorCodes', 'harbourCodes')).tables).toEqual([])
  })

  it('says where a table is no plain data', () => {
    const computed = table.replace("'no berth is free'", 'explain()')
    expect(() => readErrors('a.ts', computed)).toThrow('a.ts:4')
    expect(() => readErrors('a.ts', table.slice(table.indexOf('export')))).toThrow('a.ts:1')
  })
})

describe('findMistakes', () => {
  const mistakes = (...sources: readonly string[]) =>
    findMistakes(sources.map((source, index) => readErrors(`packages/p${index}/src/a.ts`, source)))

  it('has nothing against a table whose codes are thrown', () => {
    expect(mistakes(table, "\nthrow new OsmError('OSM_HARBOUR_FULL', 'x')")).toEqual([])
  })

  it('finds a code that is in no table, with its place', () => {
    expect(mistakes(table, "\nthrow new OsmError('OSM_HARBOUR_FOGGY', 'x')")).toEqual([
      'packages/p1/src/a.ts:2: OSM_HARBOUR_FOGGY is in no exported table of error codes',
    ])
  })

  it('finds a code in two tables and a code of another form', () => {
    expect(mistakes(table, table)).toContain(
      'packages/p1/src/a.ts: OSM_HARBOUR_FULL is already in packages/p0/src/a.ts',
    )
    expect(mistakes(table.replace('OSM_HARBOUR_FULL', 'HARBOUR_FULL'))).toHaveLength(1)
  })
})

describe('renderReference', () => {
  it('writes a section for each table, with cells that stay cells', () => {
    const page = renderReference(readErrors('packages/harbour/src/errors.ts', table).tables)
    expect(page).toContain('## harbour: OSM_HARBOUR\n\nCodes of the harbour.\n')
    expect(page).toContain('| `OSM_HARBOUR_CLOSED` | the harbour is closed \\| come tomorrow |\n')
  })
})

describe('renderMeanings', () => {
  it('writes all codes with their meanings, in order', () => {
    const tables = readErrors('packages/harbour/src/errors.ts', table).tables
    expect(renderMeanings(tables).split('\n').slice(2, 4)).toEqual([
      '  OSM_HARBOUR_CLOSED: "the harbour is closed | come tomorrow",',
      '  OSM_HARBOUR_FULL: "no berth is free",',
    ])
  })
})
