import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readErrors } from './error-tables.mjs'
import { root } from './paths.mjs'

/** @typedef {import('./error-tables.mjs').FileErrors} FileErrors */
/** @typedef {import('./error-tables.mjs').ErrorTable} ErrorTable */

const referencePath = 'docs/reference/errors.md'
/** The same for `osm support error-info`, which may not import every package that has a table. */
const meaningsPath = 'packages/cli/src/support/error-meanings.ts'
const codeForm = /^OSM(_[A-Z0-9]+){2,}$/

const introduction = `# Error codes

Every error and problem that osm-ts reports has a stable code. Programs compare the code; the message is for people and
may change. A code is never reused for another meaning.

This page is generated from the tables in the source by \`npm run check -- --fix\`; change the tables, not the page.
`

/**
 * Compares docs/reference/errors.md, and what `osm support error-info` says, with the tables in the source.
 * @param {{ fix: boolean }} options fix writes both
 * @returns {string[]} what is wrong
 */
export function checkErrorReference({ fix }) {
  const errors = sourceFiles().map((file) => readErrors(file, readFileSync(join(root, file), 'utf8')))
  const mistakes = findMistakes(errors)
  if (mistakes.length > 0) return mistakes
  const tables = errors.flatMap(({ tables }) => tables)
  return [
    ...checkWritten(referencePath, renderReference(tables), { fix }),
    ...checkWritten(meaningsPath, renderMeanings(tables), { fix }),
  ]
}

/**
 * @param {string} path
 * @param {string} expected
 * @param {{ fix: boolean }} options
 */
function checkWritten(path, expected, { fix }) {
  const file = join(root, path)
  const actual = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (actual === expected) return []
  if (!fix) return describeDifference(path, codesOf(actual), codesOf(expected))
  writeFileSync(file, expected)
  return []
}

/** Sources of all packages without tests, sorted. */
function sourceFiles() {
  return readdirSync(join(root, 'packages'))
    .filter((name) => existsSync(join(root, 'packages', name, 'src')))
    .flatMap((name) => {
      const folder = `packages/${name}/src`
      return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`)
    })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .sort()
}

/**
 * Mistakes in the tables themselves, and codes that are thrown but are in no table.
 * @param {readonly FileErrors[]} errors
 */
export function findMistakes(errors) {
  const mistakes = []
  /** @type {Map<string, string>} */
  const firstPlace = new Map()
  for (const { file, entries } of errors.flatMap(({ tables }) => tables)) {
    for (const { code } of entries) {
      const other = firstPlace.get(code)
      if (!codeForm.test(code)) mistakes.push(`${file}: ${code} does not have the form OSM_<AREA>_<WHAT>`)
      if (other !== undefined) mistakes.push(`${file}: ${code} is already in ${other}`)
      firstPlace.set(code, file)
    }
  }
  for (const { file, line, code } of errors.flatMap(({ thrown }) => thrown)) {
    if (!firstPlace.has(code)) mistakes.push(`${file}:${line}: ${code} is in no exported table of error codes`)
  }
  return mistakes
}

/** @param {readonly ErrorTable[]} tables */
export function renderReference(tables) {
  const sections = tables.map(({ file, title, entries }) => {
    const rows = entries.map(({ code, meaning }) => `| \`${code}\` | ${meaning.replaceAll('|', '\\|')} |`)
    const packageName = file.split('/')[1] ?? file
    return [
      `## ${packageName}: ${areasOf(entries)}\n`,
      `${title}\n`,
      '| code | meaning |',
      '| --- | --- |',
      ...rows,
      '',
    ].join('\n')
  })
  return [introduction, ...sections].join('\n')
}

/** @param {readonly import('./error-tables.mjs').ErrorEntry[]} entries */
function areasOf(entries) {
  return [...new Set(entries.map(({ code }) => code.split('_').slice(0, 2).join('_')))].sort().join(', ')
}

/** @param {readonly ErrorTable[]} tables */
export function renderMeanings(tables) {
  const entries = tables.flatMap(({ entries }) => entries).toSorted((a, b) => (a.code < b.code ? -1 : 1))
  return [
    '/** What each code of an error means; generated from the tables in the source by `npm run check -- errors --fix`. */',
    'export const errorMeanings: Readonly<Record<string, string>> = {',
    ...entries.map(({ code, meaning }) => `  ${code}: ${JSON.stringify(meaning)},`),
    '}',
    '',
  ].join('\n')
}

/** @param {string} text */
function codesOf(text) {
  return new Set([...text.matchAll(/^(?:\| `| {2})(OSM_\w+)/gm)].map(([, code = '']) => code))
}

/**
 * @param {string} path
 * @param {ReadonlySet<string>} actual
 * @param {ReadonlySet<string>} expected
 */
function describeDifference(path, actual, expected) {
  const missing = [...expected].filter((code) => !actual.has(code)).map((code) => `${path} lacks ${code}`)
  const gone = [...actual]
    .filter((code) => !expected.has(code))
    .map((code) => `${path} lists ${code}, which no table has`)
  return missing.length + gone.length > 0 ? [...missing, ...gone] : [`${path} differs from the tables in the source`]
}
