import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { root } from '../lib/paths.mjs'
import { ownReport, ownReports, publishedReports, withTable } from './conformance-page.mjs'

const path = join(root, 'docs/reference/gateway-api-conformance.md')

describe('the page of conformance with the Gateway API', () => {
  it('has the table of the kept reports and of those that others have published', () => {
    const page = readFileSync(path, 'utf8')
    const wanted = withTable(page, [...ownReports(), ...publishedReports()])
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(path, wanted)
    else expect(page).toBe(wanted)
  })

  it('is about class envoy, and about meshes that have published a report', () => {
    expect(ownReports().map(({ title }) => title)).toContain('osm-ts, class envoy')
    expect(publishedReports()).toHaveLength(4)
  })
})

describe('withTable', () => {
  const page = '<!-- table -->\nold\n<!-- end of table -->\n'
  const report = `
gatewayAPIVersion: v1.6.3
profiles:
  - name: MESH-HTTP
    core: { statistics: { Passed: 6, Failed: 1, Skipped: 0 } }
    extended: { statistics: { Passed: 1, Failed: 0, Skipped: 0 }, supportedFeatures: [A], unsupportedFeatures: [B] }
`

  it('shows tests that fail, features that are supported or not, and what a report does not say', () => {
    const other = { title: 'Other', suite: 'v1.0.0', profiles: { MESH: { core: { passed: 2, failed: 0 } } } }
    expect(withTable(page, [ownReport('envoy', report), other])).toBe(`<!-- table -->

|                      | osm-ts, class envoy | Other             |
| -------------------- | ------------------- | ----------------- |
| version of the suite | v1.6.3              | v1.0.0            |
| MESH-HTTP core       | 6 of 7              | not in the report |
| MESH-HTTP extended   | 1 of 1              | not in the report |
| MESH core            | not in the report   | 2 of 2            |
| A                    | yes                 | not in the report |
| B                    | no                  | not in the report |

<!-- end of table -->
`)
  })

  it('refuses a page without a place for the table', () => {
    expect(() => withTable('nothing', [])).toThrow('the page has no')
  })
})
