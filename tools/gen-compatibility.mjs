/**
 * Makes docs/reference/compatibility.md from the rows in tools/compatibility, and checks what the rows say as far as a
 * program can.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readChartValues } from './chart/values.mjs'
import { chartValues } from './compatibility/chart-values.mjs'
import { commands } from './compatibility/commands.mjs'
import { findFaults, findGaps } from './compatibility/find-faults.mjs'
import { flags } from './compatibility/flags.mjs'
import { findGuideFaults } from './compatibility/guides.mjs'
import { kinds } from './compatibility/kinds.mjs'
import { meshConfig } from './compatibility/mesh-config.mjs'
import { annotations, environment, labels } from './compatibility/names.mjs'
import { renderPage } from './compatibility/render-page.mjs'
import { fieldPaths } from './lib/crd-reference.mjs'
import { loadMeshSchemas } from './lib/mesh-schemas.mjs'
import { root } from './lib/paths.mjs'

/** @typedef {import('./chart/values.mjs').ChartValue} ChartValue */

const pagePath = 'docs/reference/compatibility.md'
const chartPath = 'charts/osm/values.yaml'

/**
 * @param {{ fix: boolean }} options fix writes the page
 * @returns {Promise<string[]>} what is wrong
 */
export async function checkCompatibility({ fix }) {
  const sections = [kinds, meshConfig, chartValues, annotations, labels, environment, flags, commands]
  const { kindDefinitions, customResourceDefinitions } = await loadMeshSchemas()
  const served = customResourceDefinitions().map(({ spec }) => spec.names.kind)
  const faults = [
    ...sections.flatMap((section) => findFaults(section, readIfThere)),
    ...findGuideFaults(readIfThere),
    ...findGaps(kinds, served),
    ...findGaps(meshConfig, fieldPaths(kindDefinitions.MeshConfig.spec)),
    ...findGaps(chartValues, readChartValues(readIfThere(chartPath) ?? '').flatMap(leavesOf)),
  ]
  if (faults.length > 0) return faults
  const page = renderPage(sections)
  if (readIfThere(pagePath) === page) return []
  if (!fix) return [`${pagePath} differs from the rows in tools/compatibility`]
  writeFileSync(join(root, pagePath), page)
  return []
}

/**
 * @param {ChartValue} value
 * @returns {readonly string[]} paths of what may be set in it
 */
function leavesOf({ path, children }) {
  return children.length === 0 ? [path] : children.flatMap(leavesOf)
}

/** @param {string} path */
function readIfThere(path) {
  const file = join(root, path)
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}
