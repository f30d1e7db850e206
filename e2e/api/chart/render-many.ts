import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chartFolder, helm } from './render.js'

/**
 * What the chart renders from many sets of values, each by itself, in a single run of helm: a chart that holds it many times, under many
 * names.
 */
export function renderMany(sets: readonly object[]): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'osm-ts-charts-'))
  try {
    const aliases = sets.map((_values, index) => `set-${String(index).padStart(4, '0')}`)
    const dependencies = aliases.map((alias) => ({ name: 'osm', version: '>=0', alias }))
    mkdirSync(join(folder, 'charts'))
    cpSync(chartFolder, join(folder, 'charts/osm'), { recursive: true })
    writeFileSync(
      join(folder, 'Chart.yaml'),
      JSON.stringify({ apiVersion: 'v2', name: 'many', version: '1.0.0', dependencies }),
    )
    const values = Object.fromEntries(aliases.map((alias, index) => [alias, sets[index]]))
    const { code, stdout, stderr } = helm(['template', 'osm', folder, '--kube-version', '1.34.4'], values)
    if (code !== 0) throw new Error(stderr)
    return textsOf(stdout, aliases)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Sorts documents by the chart that they came from, and removes what tells that. */
function textsOf(output: string, aliases: readonly string[]): readonly string[] {
  const texts = new Map<string, string[]>(aliases.map((alias) => [alias, []]))
  for (const document of output.split(/^---\n/m)) {
    const [, alias] = /^# Source: many\/charts\/([^/]+)\//.exec(document) ?? []
    if (alias !== undefined) texts.get(alias)?.push(document.replaceAll(alias, 'osm'))
  }
  return [...texts.values()].map((documents) => documents.sort().join('---\n'))
}
