import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { temporaryFolders } from '../testing/temporary-folder.js'
import { checkChart } from './check-chart.mjs'

const newFolder = temporaryFolders()

function checkout(): string {
  const base = newFolder({
    'charts/osm/values.yaml': '# Port.\n# @form port\nport: 1\n',
    'charts/osm/Chart.yaml': 'name: osm\nversion: 0.0.1\nappVersion: 0.0.1\n',
    'packages/controller/package.json': '{"version":"1.2.3"}',
  })
  for (const folder of ['docs/reference', 'charts/osm/dashboards']) mkdirSync(join(base, folder), { recursive: true })
  return base
}

describe('checkChart', () => {
  it('names what is out of date, and mends it when asked to', async () => {
    const base = checkout()
    const found = await checkChart({ fix: false, base })
    const files = found.map((line) => line.split(' ')[0] ?? '')
    expect(files).toContain('charts/osm/dashboards/osm-control-plane.json')
    expect(files.filter((file) => !file.includes('/dashboards/'))).toEqual([
      'charts/osm/values.schema.json',
      'docs/reference/chart.md',
      'charts/osm/Chart.yaml',
    ])

    expect(await checkChart({ fix: true, base })).toEqual([])
    expect(await checkChart({ fix: false, base })).toEqual([])
    expect(readFileSync(join(base, 'charts/osm/Chart.yaml'), 'utf8')).toBe(
      'name: osm\nversion: 1.2.3\nappVersion: 1.2.3\n',
    )
  })

  it('notices a value that changed', async () => {
    const base = checkout()
    await checkChart({ fix: true, base })
    writeFileSync(join(base, 'charts/osm/values.yaml'), '# Port.\n# @form port\nport: 2\n')
    expect(await checkChart({ fix: false, base })).toEqual([expect.stringContaining('docs/reference/chart.md')])
  })
})
