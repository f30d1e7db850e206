import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { root } from '../lib/paths.mjs'

const reports = join(root, 'docs/conformance/gateway-api')
const start = '<!-- table -->'
const end = '<!-- end of table -->'
const noLevel = 'not in the report'

/**
 * @typedef {{ passed: number, failed: number }} Counts
 * @typedef {object} Profile
 * @property {Counts} core
 * @property {Counts} [extended]
 * @property {readonly string[]} [supportedFeatures]
 * @property {readonly string[]} [unsupportedFeatures]
 */
/**
 * A report of the suite, of this mesh or of another.
 * @typedef {object} Report
 * @property {string} title
 * @property {string} suite version of the Gateway API that the suite was made for
 * @property {Readonly<Record<string, Profile>>} profiles
 */

/**
 * The reports that are kept of this mesh, one for each sidecar class.
 * @returns {readonly Report[]}
 */
export function ownReports() {
  return readdirSync(reports)
    .sort()
    .flatMap((name) => {
      const sidecarClass = /^osm-ts-([a-z]+)\.yaml$/.exec(name)?.[1]
      return sidecarClass === undefined ? [] : [ownReport(sidecarClass, readFileSync(join(reports, name), 'utf8'))]
    })
}

/**
 * @param {string} sidecarClass
 * @param {string} text of a report of the suite
 * @returns {Report}
 */
export function ownReport(sidecarClass, text) {
  const { gatewayAPIVersion, profiles } = parse(text)
  return {
    title: `osm-ts, class ${sidecarClass}`,
    suite: gatewayAPIVersion,
    profiles: Object.fromEntries(profiles.map((/** @type {any} */ profile) => [profile.name, readProfile(profile)])),
  }
}

/**
 * @param {any} profile of a report
 * @returns {Profile}
 */
function readProfile({ core, extended }) {
  const counts = (/** @type {any} */ { statistics }) => ({ passed: statistics.Passed, failed: statistics.Failed })
  if (extended === undefined) return { core: counts(core) }
  const { supportedFeatures, unsupportedFeatures } = extended
  return { core: counts(core), extended: counts(extended), supportedFeatures, unsupportedFeatures }
}

/**
 * Reports of other meshes, as they are published in the repository of the Gateway API.
 * @returns {readonly Report[]}
 */
export function publishedReports() {
  return JSON.parse(readFileSync(join(reports, 'published.json'), 'utf8')).map(
    (/** @type {any} */ { project, version, suite, profiles }) => ({ title: `${project} ${version}`, suite, profiles }),
  )
}

/**
 * The page with the table of these reports instead of the one that it has.
 * @param {string} page
 * @param {readonly Report[]} all
 */
export function withTable(page, all) {
  const [head, tail] = [page.indexOf(start), page.indexOf(end)]
  if (head === -1 || tail < head) throw new Error(`the page has no ${start} before ${end}`)
  return `${page.slice(0, head + start.length)}\n\n${renderTable(all)}\n\n${page.slice(tail)}`
}

/** @param {readonly Report[]} all */
function renderTable(all) {
  const http = all.map(({ profiles }) => profiles['MESH-HTTP'])
  const features = [...new Set(http.flatMap((profile) => [...namesOf(profile), ...namesOf(profile, false)]))].sort()
  const rows = [
    ['', ...all.map(({ title }) => title)],
    ['version of the suite', ...all.map(({ suite }) => suite)],
    ...['MESH-HTTP', 'MESH-GRPC', 'MESH'].flatMap((name) => profileRows(all, name)),
    ...features.map((feature) => [feature, ...http.map((profile) => featureCell(profile, feature))]),
  ]
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  const line = (/** @type {readonly string[]} */ cells) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const [titles = [], ...rest] = rows
  return [line(titles), line(widths.map((width) => '-'.repeat(width))), ...rest.map(line)].join('\n')
}

/**
 * @param {readonly Report[]} all
 * @param {string} name
 */
function profileRows(all, name) {
  const levels = /** @type {const} */ (['core', 'extended'])
  return levels.flatMap((level) => {
    const counts = all.map(({ profiles }) => profiles[name]?.[level])
    return counts.every((found) => found === undefined) ? [] : [[`${name} ${level}`, ...counts.map(countCell)]]
  })
}

/** @param {Counts | undefined} counts */
function countCell(counts) {
  return counts === undefined ? noLevel : `${counts.passed} of ${counts.passed + counts.failed}`
}

/**
 * @param {Profile | undefined} profile
 * @param {string} feature
 */
function featureCell(profile, feature) {
  if (namesOf(profile).includes(feature)) return 'yes'
  return namesOf(profile, false).includes(feature) ? 'no' : noLevel
}

/**
 * @param {Profile | undefined} profile
 * @returns {readonly string[]} features that it supports, or does not
 */
function namesOf(profile, supported = true) {
  return (supported ? profile?.supportedFeatures : profile?.unsupportedFeatures) ?? []
}
