import { describe, expect, it } from '@jest/globals'
import { compareReports, comparisonLines } from './compare.mjs'
import { figuresOf } from './figures.mjs'
import { reportPage } from './page.mjs'
import { resultsOf, targets } from './targets.mjs'

const summary = (p50: number) => ({ count: 200, min: 1, p50, p99: 2 * p50, max: 3 * p50 })
const report = {
  machine: { cpu: 'some <processor>', cores: 2 },
  quick: false,
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
    expect(paths.filter((path) => /machine|count|notes|quick/.test(path))).toEqual([])
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
