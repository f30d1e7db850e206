import { describe, expect, it } from '@jest/globals'
import { findFaults, findGaps } from './compatibility/find-faults.mjs'
import { renderPage } from './compatibility/render-page.mjs'
import { expandName, missing, never, refused, works, type Row } from './compatibility/row.mjs'
import { checkCompatibility } from './gen-compatibility.mjs'

const files: Readonly<Record<string, string>> = {
  'a.test.ts': 'it("sets sidecarTimeout", () => tracing({ port: 1 }))',
  'b.test.ts': '--mesh-name=osm',
}
const section = (...rows: Row[]) => ({ title: 'T', introduction: 'I', rows })
const faults = (...rows: Row[]) => findFaults(section(...rows), (path) => files[path])

describe('a name', () => {
  it.each([
    ['a.b', ['a.b']],
    ['a.{b,c}[].d', ['a.b[].d', 'a.c[].d']],
    ['{a,b}.{c,d}', ['a.c', 'a.d', 'b.c', 'b.d']],
  ])('%s stands for %j', (name, expected) => {
    expect(expandName(name)).toEqual(expected)
  })
})

describe('rows', () => {
  it('that hold are taken', () => {
    expect(
      faults(
        works('sidecar.sidecarTimeout', 'a.test.ts'),
        works('--mesh-name', ['a.test.ts', 'b.test.ts']),
        works('observability.tracing.port', 'a.test.ts'),
        works('renamed', 'a.test.ts', { word: 'tracing' }),
        missing('osm fly', 'open'),
      ),
    ).toEqual([])
  })

  it.each<[string, Row, string]>([
    ['whose test does not exist', works('sidecarTimeout', 'c.test.ts'), 'c.test.ts does not exist'],
    ['that no test speaks of', works('sidecar.{sidecarTimeout,logLevel}', 'a.test.ts'), 'has the word logLevel'],
    ['of which a test has a longer word only', works('sidecarTime', 'a.test.ts'), 'has the word sidecarTime'],
    ['of a general word in another place', works('prometheus.port', 'a.test.ts'), 'has the word prometheus'],
    ['without a test', { name: 'a', status: 'works', tests: [] }, 'tests cover what is there'],
    ['of something missing with a test', { ...missing('a'), tests: ['a.test.ts'] }, 'tests cover what is there'],
    ['without a reason', { name: 'port', status: 'never', tests: ['a.test.ts'] }, 'its reason is missing'],
  ])('%s are found', (_case, row, expected) => {
    expect(faults(row)).toContainEqual(expect.stringContaining(expected))
  })

  it('of one name twice are found', () => {
    expect(faults(works('sidecarTimeout', 'a.test.ts'), works('{sidecarTimeout}', 'a.test.ts'))).toEqual([
      'T: sidecarTimeout has several rows',
    ])
  })

  it('are compared with what there is', () => {
    const rows = section(works('a.{b,c}', 'a.test.ts'), works('gone', 'a.test.ts'))
    expect(findGaps(rows, ['a.b', 'a.c.d', 'a.c[].e', 'a.cd', 'x'])).toEqual([
      'T: a.cd has no row',
      'T: x has no row',
      'T: there is no gone',
    ])
  })
})

describe('the page', () => {
  it('tells status, reason and tests of each row, and how many there are', () => {
    const page = renderPage([
      section(
        works('a', 'tools/a.test.ts', { note: 'x | y' }),
        never('c', 'why', 'tools/a.test.ts'),
        refused('d', 'why', 'tools/a.test.ts'),
        missing('e', 'why'),
      ),
    ])
    expect(page).toContain('| `a` | works | x \\| y | [a.test.ts](../../tools/a.test.ts) |')
    expect(page).toContain('| `e` | missing | why |  |')
    expect(page).toMatch(/\| never \| .* \| 1 \|/)
  })
})

describe('what is in the repository', () => {
  it('holds, and is on the page', async () => {
    expect(await checkCompatibility({ fix: false })).toEqual([])
  })
})
