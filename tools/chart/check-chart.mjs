import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { root } from '../lib/paths.mjs'
import { dashboardJson } from './dashboards/build.mjs'
import { meshDashboards } from './dashboards/mesh.mjs'
import { trafficDashboards } from './dashboards/traffic.mjs'
import { renderChartReference } from './reference.mjs'
import { valuesSchema } from './schema.mjs'
import { readChartValues } from './values.mjs'

const chartFolder = 'charts/osm'

/**
 * Compares what is made from values.yaml and of the definitions of dashboards with them, and the version of the chart with that of the packages.
 * @param {{ fix: boolean, base?: string }} options fix writes the files
 * @returns {Promise<string[]>} what is wrong
 */
export async function checkChart({ fix, base = root }) {
  const read = (/** @type {string} */ path) => readFileSync(join(base, path), 'utf8')
  const values = readChartValues(read(`${chartFolder}/values.yaml`))
  const { version } = JSON.parse(read('packages/controller/package.json'))
  const dashboards = await Promise.all(
    [...meshDashboards, ...trafficDashboards].map(async (dashboard) => [
      `${chartFolder}/dashboards/${dashboard.name}.json`,
      await prettyJson(JSON.stringify(dashboardJson(dashboard))),
    ]),
  )
  /** @type {Record<string, string>} */
  const expected = {
    ...Object.fromEntries(dashboards),
    [`${chartFolder}/values.schema.json`]: await prettyJson(JSON.stringify(valuesSchema(values))),
    'docs/reference/chart.md': renderChartReference(values),
    [`${chartFolder}/Chart.yaml`]: read(`${chartFolder}/Chart.yaml`)
      .replace(/^version: .*$/m, `version: ${version}`)
      .replace(/^appVersion: .*$/m, `appVersion: ${version}`),
  }
  const stale = Object.entries(expected).filter(([path, text]) => !existsSync(join(base, path)) || read(path) !== text)
  if (!fix)
    return stale.map(
      ([path]) => `${path} differs from what ${chartFolder}/values.yaml, tools/chart/dashboards and the packages say`,
    )
  for (const [path, text] of stale) writeFileSync(join(base, path), text)
  return []
}

/** @param {string} text */
async function prettyJson(text) {
  const filepath = join(root, 'values.schema.json')
  return format(text, { ...(await resolveConfig(filepath)), filepath })
}
