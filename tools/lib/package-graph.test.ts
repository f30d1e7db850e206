import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, it } from '@jest/globals'

import { temporaryFolders } from '../testing/temporary-folder.js'
import { checkPackageGraph, readGraph, renderGraph } from './package-graph.mjs'

const folder = temporaryFolders()
const page = 'docs/design/architecture.md'
const marked = `# Architecture

<!-- packages: made from the imports by \`npm run check -- graph --fix\` -->

<!-- end of packages -->

## Next
`
const files = {
  'packages/contract/src/index.ts': 'export const nothing = 0\n',
  'packages/mesh/src/index.ts': "export { nothing } from '@osm-ts/contract'\n",
  'packages/mesh/src/index.test.ts': "import '@osm-ts/other'\nimport { a } from '@osm-ts/other'\n",
  'packages/program/src/index.ts':
    "import type { A } from '@osm-ts/contract'\nconst mesh = await import('@osm-ts/mesh')\n",
  'packages/other/src/index.ts': 'export const nothing = 0\n',
}

describe('the picture of the packages', () => {
  it('has an arrow for each import of a source, late imports included, and none for tests', () => {
    expect([...readGraph(folder(files))].map(([name, imports]) => [name, [...imports]])).toEqual([
      ['contract', []],
      ['mesh', ['contract']],
      ['other', []],
      ['program', ['contract', 'mesh']],
    ])
  })

  it('leaves out arrows that others imply, and shows packages that stand alone', () => {
    expect(renderGraph(readGraph(folder(files)))).toBe(
      '```mermaid\nflowchart TB\n  mesh --> contract\n  program --> mesh\n  other\n```',
    )
  })

  it('is rejected when a package imports another one than shown, and repaired with --fix', () => {
    const base = folder({ ...files, [page]: marked })
    const differs = [`${page}: the picture of the packages differs from what they import`]
    expect(checkPackageGraph({ fix: false }, base)).toEqual(differs)
    expect(checkPackageGraph({ fix: true }, base)).toEqual([])
    expect(checkPackageGraph({ fix: false }, base)).toEqual([])
    const text = readFileSync(join(base, page), 'utf8')
    expect(text).toContain('  program --> mesh\n')
    expect(text).toMatch(/^# Architecture[^]*## Next\n$/)
  })

  it('is missed when its place is gone', () => {
    const base = folder({ ...files, [page]: '# Architecture\n' })
    expect(checkPackageGraph({ fix: true }, base)).toEqual([expect.stringContaining('expected a picture between')])
  })
})
