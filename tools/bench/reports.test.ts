import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'
import { compareReports, comparisonLines } from './compare.mjs'
import { figuresOf } from './figures.mjs'
import { reportPage } from './page.mjs'
import { joinedReports, targetTable, withTable } from './table.mjs'
import { resultsOf, targets } from './targets.mjs'

const summary = (p50: number) => ({ count: 200, min: 1, p50, p99: 2 * p50, max: 3 * p50 })
const report = {
  machine: { cpu: 'some <processor>', cores: 2, memoryGiB: 24, node: 'v20.1.0' },
  quick: false,
  seconds: { scale: 90, 'cli-start': 3 },
  'cli-start': { osm: summary(100), node: summary(50), beyondNode: 50 },
  scale: {
    endpointChange: [
      { affected: 100, change: summary(150), ratio: 2, octetsToOthers: 0 },
      { affected: 500, change: summary(200), ratio: 1.4 },
    ],
    notes: ['no figure'],
  },
  edit: { notRun: 'why' },
}

describe('figuresOf', () => {
  it('gives every number that was measured, and elements of lists by what they are', () => {
    const paths = figuresOf(report).map(({ path }) => path)
    expect(paths).toContain('scale.endpointChange[affected=500].change.p99')
    expect(paths).toContain('cli-start.beyondNode')
    expect(paths.filter((path) => /machine|count|notes|quick|seconds/.test(path))).toEqual([])
  })
})

describe('compareReports', () => {
  it('finds no change between a report and itself', () => {
    const comparison = compareReports(report, report, 0.1)
    expect(comparison).toMatchObject({ changes: [], gone: [], added: [], differing: [] })
    expect(comparisonLines(comparison, 0.1)).toEqual([
      `0 of ${figuresOf(report).length} figures changed by more than 10 %`,
    ])
  })

  it('gives what changed beyond the limit, the largest first, and says what came and went', () => {
    const after = structuredClone(report) as unknown as Record<string, Record<string, unknown>>
    after['cli-start']!['beyondNode'] = 54
    after['cli-start']!['osm'] = { ...summary(100), p50: 80 }
    after['scale']!['endpointChange'] = [
      { ...report.scale.endpointChange[0], octetsToOthers: 10, ratio: 4 },
      { affected: 500, ratio: 1.4 },
    ]
    after['machine']!['cores'] = 8
    after['pipy'] = { median: 1 }
    const comparison = compareReports(report, after, 0.1)
    expect(comparison.changes.map(({ path, change }) => [path, change])).toEqual([
      ['scale.endpointChange[affected=100].octetsToOthers', undefined],
      ['scale.endpointChange[affected=100].ratio', 1],
      ['cli-start.osm.p50', -0.2],
    ])
    expect(comparison.gone).toHaveLength(4)
    expect(comparison.added).toEqual(['pipy.median'])
    expect(comparison.differing).toEqual(['cores: 2, then 8'])
    expect(comparisonLines(comparison, 0.1).join('\n')).toMatch(/octetsToOthers +was 0 +0 → 10\n.*\+100\.0 %/)
  })
})

describe('resultsOf', () => {
  it('holds figures against their targets, and says which were not measured', () => {
    const results = new Map(resultsOf(report).map(({ path, met }) => [path, met]))
    expect(results.get('scale.endpointChange[affected=500].ratio')).toBe(true)
    expect(results.get('scale.endpointChange[affected=500].change.p99')).toBe(false)
    expect(results.get('certificates.ratio')).toBeUndefined()
    expect(results.size).toBe(targets.length)
  })
})

describe('joinedReports', () => {
  const later = { ...report, seconds: { large: 60 }, scale: undefined, large: { cold: 1 } }

  it('holds the benchmarks of all of them', () => {
    const { 'cli-start': first, large, seconds } = joinedReports([report, { ...later, scale: report.scale }]) as never
    expect({ first, large, seconds }).toEqual({
      first: report['cli-start'],
      large: { cold: 1 },
      seconds: { scale: 90, 'cli-start': 3, large: 60 },
    })
  })

  it('refuses reports of different machines, and quick ones beside others', () => {
    const elsewhere = { ...report, machine: { ...report.machine, node: 'v24.1.0' } }
    expect(() => joinedReports([report, elsewhere])).toThrow(RangeError)
    expect(() => joinedReports([report, { ...report, quick: true }])).toThrow(RangeError)
  })
})

describe('reportPage', () => {
  it('shows targets, plots and figures, and takes no text for markup', () => {
    const page = reportPage(report)
    expect(page).toContain('✓ met')
    expect(page).toContain('✗ missed')
    expect(page).toContain('some &#60;processor&#62;')
    expect(page.match(/<circle/g)).toHaveLength(4)
    expect(page).not.toMatch(/undefined|NaN|<processor>/)
  })
})

describe('targetTable', () => {
  it('has a row for each target, with the reason where it is missed and the command where it was not measured', () => {
    const lines = targetTable(report).split('\n')
    const rowOf = (what: string) => lines.find((line) => line.startsWith(`| ${what}`))?.split(/ *\| */)
    expect(lines[0]).toBe(
      'Measured on some <processor>, 2 cores, 24 GiB, Node 20.1.0; the benchmarks of the report took 1.6 minutes.',
    )
    expect(lines).toHaveLength(4 + targets.length)
    expect(rowOf('endpoint change')?.slice(2, 6)).toEqual(['at most 1.5', '1.4', 'met', ''])
    expect(rowOf('the same, p99')?.slice(2, 5)).toEqual(['at most 250 ms', '400 ms', '**missed**'])
    expect(rowOf('the same, p99')?.[5]).toMatch(/collection of the old generation/)
    expect(rowOf('P-256 certificates')?.slice(2, 5)).toEqual(['at least 0.7', '', 'not measured'])
    expect(rowOf('P-256 certificates')?.[5]).toBe('`npm run bench -- certificates` measures it')
  })

  it('says so where the reason of a miss is not known', () => {
    const slow = { 'cli-start': { beyondNode: 61 } }
    expect(targetTable(slow)).toMatch(/beyond node -e 0 .*\| 61 ms +\| \*\*missed\*\* +\| not known yet/)
    expect(targetTable(slow)).toMatch(/^Nothing has been measured yet\.$/m)
  })

  it('shows the same figure of the bare server where a target is missed', () => {
    const reconnect = { longestBlockMs: 325, floorLongestBlockMs: 180, longestBlockOfEndMs: 60 }
    const table = targetTable({ ...report, scale: { ...report.scale, reconnect } })
    expect(table).toMatch(
      /2,000 proxies reconnect +\| at most 100 ms +\| 325 ms +\| \*\*missed\*\* +\| bare server: 180 ms; /,
    )
    expect(table).toMatch(/2,000 connections close at once +\| at most 100 ms +\| 60 ms +\| met +\| +\|/)
  })

  it('takes the place of the table before in a page', () => {
    const page = 'a\n<!-- targets: npm run bench:table -->\n\nold\n\n<!-- end of targets -->\nb\n'
    const next = withTable(page, 'new')
    expect(next).toBe(page.replace('old', 'new'))
    expect(withTable('a page', 'new')).toBeUndefined()
  })

  it('names the targets in the reference as they are', () => {
    const page = readFileSync(new URL('../../docs/benchmarks.md', import.meta.url), 'utf8')
    const cells = page.split('\n').map((line) =>
      line
        .split(/ *\| */)
        .slice(1, 3)
        .join(' | '),
    )
    const missing = targetTable({})
      .split('\n')
      .slice(4)
      .map((line) =>
        line
          .split(/ *\| */)
          .slice(1, 3)
          .join(' | '),
      )
      .filter((target) => !cells.includes(target))
    expect(missing).toEqual([])
  })
})
