import { describe, expect, it } from '@jest/globals'
import type { Status } from './compatibility/row.mjs'
import { findFeatureFaults } from './lib/features.mjs'

const head = '| Capability | Shown by | Note |\n| --- | --- | --- |\n'

const known = { exists: () => true, statuses: new Map<string, Status>(), parts: [] as readonly string[] }

describe('the table of features', () => {
  it('may name what exists, or say that it is not supported', () => {
    const rows = '| a | [a](../../e2e/a.yaml), [b](../../e2e/b.yaml) | |\n| b | not supported | |\n'
    expect(findFeatureFaults(head + rows, known)).toEqual([])
  })

  it('may not name what does not exist, nor leave a row open', () => {
    const rows = '| a | [a](../../e2e/a.yaml) | |\n| b | soon | |\n'
    expect(findFeatureFaults(head + rows, { ...known, exists: () => false })).toEqual([
      'docs/reference/features.md:3: there is no e2e/a.yaml',
      'docs/reference/features.md:4: "b" names no scenario and no test; write "not supported" if it is not part of this mesh',
    ])
  })

  it('says of the parts of the chart what the tables of compatibility say', () => {
    const statuses = new Map<string, Status>([
      ['osm.deployA', 'works'],
      ['osm.deployB', 'refused'],
    ])
    const parts = ['osm.deployA', 'osm.deployB', 'osm.deployC']
    const right =
      '| a | [a](../../e2e/a.yaml) | `osm.deployA` |\n| b | not supported | `osm.deployB` |\n| c | not supported | `osm.deployC` |\n'
    expect(findFeatureFaults(head + right, { ...known, statuses, parts })).toEqual([])
    const wrong = '| a | not supported | `osm.deployA` |\n| b | [b](../../e2e/b.yaml) | `osm.deployB` |\n'
    expect(findFeatureFaults(head + wrong, { ...known, statuses, parts })).toEqual([
      'docs/reference/features.md:3: "a" shows 0 tests, but osm.deployA has status works in the tables of compatibility',
      'docs/reference/features.md:4: "b" shows 1 tests, but osm.deployB has status refused in the tables of compatibility',
      'docs/reference/features.md: no row has `osm.deployC` in its note, which is a part of the chart',
    ])
  })
})
