import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readErrors } from './error-tables.mjs'
import { root } from './paths.mjs'

/** @typedef {import('./error-tables.mjs').FileErrors} FileErrors */
/** @typedef {import('./error-tables.mjs').ErrorTable} ErrorTable */

const referencePath = 'docs/reference/errors.md'
const codeForm = /^OSM(_[A-Z0-9]+){2,}$/

const introduction = `# Error codes

Every error and problem that osm-ts reports has a stable code. Programs compare the code; the message is for people and
may change. A code is never reused for another meaning.

This page is made from the tables in the source by \`npm run check -- --fix\`; change the tables, not the page.
`

/**
 * Compares docs/reference/errors.md with the tables in the source.
 * @param {{ fix: boolean }} options fix writes the page
 * @returns {string[]} what is wrong
 */
export function checkErrorReference({ fix }) {
  const errors = sourceFiles().map((file) => readErrors(file, readFileSync(join(root, file), 'utf8')))
  const mistakes = findMistakes(errors)
  if (mistakes.length > 0) return mistakes
  const path = join(root, referencePath)
  const expected = renderReference(errors.flatMap(({ tables }) => tables))
  const actual = existsSync(path) ? readFileSync(path, 'utf8') : ''
  if (actual === expected) return []
  if (!fix) return describeDifference(codesOf(actual), codesOf(expected))
  writeFileSync(path, expected)
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
 * Mistakes in the tables themselves, and codes that are thrown but stand in no table.
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
    if (!firstPlace.has(code)) mistakes.push(`${file}:${line}: ${code} stands in no exported table of error codes`)
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

/** @param {string} page */
function codesOf(page) {
  return new Set([...page.matchAll(/^\| `(OSM_\w+)`/gm)].map(([, code = '']) => code))
}

/**
 * @param {ReadonlySet<string>} actual
 * @param {ReadonlySet<string>} expected
 */
function describeDifference(actual, expected) {
  const missing = [...expected].filter((code) => !actual.has(code)).map((code) => `${referencePath} lacks ${code}`)
  const gone = [...actual]
    .filter((code) => !expected.has(code))
    .map((code) => `${referencePath} lists ${code}, which no table has`)
  return missing.length + gone.length > 0
    ? [...missing, ...gone]
    : [`${referencePath} differs from the tables in the source`]
}
