/**
 * Reads the files of .changeset, which are the one list of what users and driver authors notice, and makes release notes of them.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { root } from '../lib/paths.mjs'

/** @typedef {'major' | 'minor' | 'patch'} Bump */
/** @typedef {{ readonly name: string, readonly packages: readonly string[], readonly bump: Bump, readonly summary: string }} Changeset bump is the highest of its packages */

/** @type {readonly Bump[]} from the highest */
const bumps = ['major', 'minor', 'patch']
const headings = { major: 'Major changes', minor: 'Minor changes', patch: 'Patch changes' }

/**
 * @param {string} name of the file, without its ending
 * @param {string} text
 * @param {readonly string[]} known names of packages
 * @returns {Changeset}
 * @throws Error that says what is wrong with the file
 */
export function parseChangeset(name, text, known) {
  const fault = (/** @type {string} */ message) => new Error(`.changeset/${name}.md: ${message}`)
  const [, head, body] = /^---\n(.*?)\n---\n(.*)$/s.exec(text) ?? []
  if (head === undefined || body === undefined) throw fault('expected packages between two lines of ---, and a summary')
  const entries = Object.entries(readHead(head, fault))
  if (entries.length === 0) throw fault('expected at least one package')
  for (const [key, bump] of entries) {
    if (!known.includes(key)) throw fault(`${key}: expected a package of this repository`)
    if (!bumps.some((each) => each === bump))
      throw fault(`${key}: expected one of ${bumps.join(', ')}, got ${String(bump)}`)
  }
  const summary = body.trim()
  if (summary === '') throw fault('expected a summary')
  const bump = bumps.find((each) => entries.some(([, value]) => value === each)) ?? 'patch'
  return { name, packages: entries.map(([key]) => key), bump, summary }
}

/**
 * @param {string} head
 * @param {(message: string) => Error} fault
 * @returns {Record<string, unknown>}
 */
function readHead(head, fault) {
  try {
    return parse(head) ?? {}
  } catch (error) {
    throw fault(error instanceof Error ? error.message : String(error))
  }
}

/**
 * @returns {readonly Changeset[]} in the order of their names
 * @throws Error that says what is wrong with the first bad file
 */
export function readChangesets() {
  const folder = join(root, '.changeset')
  const known = readdirSync(join(root, 'packages'))
    .filter((name) => existsSync(join(root, 'packages', name, 'package.json')))
    .map((name) => `@osm-ts/${name}`)
  return readdirSync(folder)
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .sort()
    .map((name) => parseChangeset(name.slice(0, -'.md'.length), readFileSync(join(folder, name), 'utf8'), known))
}

/**
 * All packages share one version, so the highest bump decides.
 * @param {string} current
 * @param {readonly Changeset[]} changesets
 */
export function nextVersion(current, changesets) {
  const [major = 0, minor = 0, patch = 0] = current.split('.').map(Number)
  const highest = bumps.find((bump) => changesets.some((changeset) => changeset.bump === bump))
  if (highest === undefined) return current
  return { major: `${major + 1}.0.0`, minor: `${major}.${minor + 1}.0`, patch: `${major}.${minor}.${patch + 1}` }[
    highest
  ]
}

/**
 * @param {string} title
 * @param {readonly Changeset[]} changesets
 * @returns {string} a section of CHANGELOG.md
 */
export function releaseNotes(title, changesets) {
  const parts = bumps.flatMap((bump) => {
    const entries = changesets.filter((changeset) => changeset.bump === bump).map(entry)
    return entries.length === 0 ? [] : [`### ${headings[bump]}\n\n${entries.join('\n')}\n`]
  })
  return `## ${title}\n\n${parts.join('\n')}`
}

/** @param {Changeset} changeset */
function entry({ packages, summary }) {
  const names = packages.map((name) => name.replace('@osm-ts/', '')).join(', ')
  const [first = '', ...rest] = summary.split('\n')
  return [`- **${names}**: ${first}`, ...rest.map((line) => (line === '' ? '' : `  ${line}`))].join('\n')
}

/**
 * @param {string} changelog
 * @param {string} section
 * @returns {string} the changelog with the section before those of earlier releases
 */
export function withRelease(changelog, section) {
  const at = changelog.indexOf('\n## ')
  return at < 0
    ? `${changelog.trimEnd()}\n\n${section}`
    : `${changelog.slice(0, at + 1)}${section}\n${changelog.slice(at + 1)}`
}

/** @returns {readonly string[]} what is wrong with the files of .changeset and with CHANGELOG.md */
export function checkChangesets() {
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const twice = /^## unreleased/im.test(changelog)
    ? ['CHANGELOG.md: it lists releases only; a change that is not released belongs in .changeset']
    : []
  try {
    readChangesets()
    return twice
  } catch (error) {
    return [...twice, error instanceof Error ? error.message : String(error)]
  }
}
