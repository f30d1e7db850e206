import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { parse } from 'yaml'
import { root } from './paths.mjs'

/**
 * What the page needs of a scenario file.
 * @typedef {object} ScenarioHead
 * @property {string} name
 * @property {string} title
 * @property {readonly string[]} modes
 * @property {Readonly<Record<string, string>>} [without] reasons by mode
 */

const page = 'docs/reference/scenarios.md'
const folder = 'packages/driver-testkit/scenarios'
const heading = '## Which runs where\n'
const modes = ['explicit', 'transparent', 'pods']

/**
 * Compares the last section of docs/reference/scenarios.md with the scenario files.
 * @param {{ fix: boolean }} options fix writes it
 * @returns {Promise<string[]>} what is wrong
 */
export async function checkScenarioReference({ fix }) {
  const path = join(root, page)
  const actual = readFileSync(path, 'utf8')
  const start = actual.indexOf(heading)
  if (start < 0) return [`${page}: there is no section "${heading.trim()}"`]
  const settings = await resolveConfig(path)
  const expected = await format(actual.slice(0, start) + renderScenarios(readHeads()), { ...settings, filepath: path })
  if (actual === expected) return []
  if (!fix) return [`${page}: "${heading.trim()}" is not what the files in ${folder} say`]
  writeFileSync(path, expected)
  return []
}

/** @returns {ScenarioHead[]} by name */
function readHeads() {
  return readdirSync(join(root, folder))
    .filter((file) => file.endsWith('.yaml'))
    .sort()
    .map((file) => ({ name: file.slice(0, -'.yaml'.length), ...parse(readFileSync(join(root, folder, file), 'utf8')) }))
}

/**
 * The section, in no particular format.
 * @param {readonly ScenarioHead[]} heads
 */
export function renderScenarios(heads) {
  const rows = heads.map(({ name, title, modes: own }) =>
    [
      `[${name}](../../${folder}/${name}.yaml)`,
      title,
      ...modes.map((mode) => (own.includes(mode) ? 'yes' : 'no')),
    ].join(' | '),
  )
  const reasons = heads.flatMap(({ name, without = {} }) =>
    Object.entries(without).map(([mode, reason]) => `- \`${name}\` not in ${mode}: ${reason}`),
  )
  return `${heading}
Made from the files by \`npm run check -- scenarios --fix\`.

| scenario | shows | ${modes.join(' | ')} |
| --- | --- |${' --- |'.repeat(modes.length)}
${rows.map((row) => `| ${row} |\n`).join('')}
${reasons.join('\n')}
`
}
