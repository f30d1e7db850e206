import { expandName } from './row.mjs'

/** @typedef {import('./row.mjs').Row} Row */
/** @typedef {import('./row.mjs').Section} Section */

/** Names too general to show by themselves that a file speaks of one thing. */
const general = new Set(['enable', 'enabled', 'name', 'port', 'value', 'image', 'host', 'secret', 'key', 'level'])

/**
 * What is wrong with the rows of a section: without these, a row could say anything.
 * @param {Section} section
 * @param {(path: string) => string | undefined} read the text of a file of the repository, or undefined if there is none
 * @returns {readonly string[]}
 */
export function findFaults({ title, rows }, read) {
  const seen = new Set()
  return rows.flatMap((row) => [
    ...expandName(row.name).flatMap((name) => {
      const known = seen.has(name)
      seen.add(name)
      return known ? [`${title}: ${name} has several rows`] : []
    }),
    ...faultsOfRow(row, read).map((fault) => `${title}: ${row.name}: ${fault}`),
  ])
}

/**
 * @param {Row} row
 * @param {(path: string) => string | undefined} read
 * @returns {readonly string[]}
 */
function faultsOfRow(row, read) {
  const { status, note, tests } = row
  const faults = []
  if ((status === 'never' || status === 'refused') && note === undefined) faults.push('its reason is missing')
  if ((status === 'missing') !== (tests.length === 0)) faults.push('tests cover what is there, and nothing else')
  const texts = tests.map((path) => {
    const text = read(path)
    if (text === undefined) faults.push(`${path} does not exist`)
    return text ?? ''
  })
  const absent = tests.length === 0 ? [] : wordsOf(row).filter((word) => !texts.some((text) => hasWord(text, word)))
  return [...faults, ...absent.map((word) => `none of its tests has the word ${word}`)]
}

/**
 * Words that the tests of a row have: the last part of each of its names, and the part before it where the last is a
 * word of everything.
 * @param {Row} row
 */
function wordsOf({ name, word }) {
  if (word !== undefined) return [word]
  const words = expandName(name).flatMap((one) => {
    const parts = one.replaceAll('[]', '').split('.')
    const last = parts.at(-1) ?? one
    const before = parts.at(-2)
    return general.has(last) && before !== undefined ? [before, last] : [last]
  })
  return [...new Set(words)]
}

/**
 * @param {string} text
 * @param {string} word
 */
function hasWord(text, word) {
  const escaped = word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
  return new RegExp(`(?<![A-Za-z0-9])${escaped}(?![A-Za-z0-9])`).test(text)
}

/**
 * What has no row, and which rows are about nothing.
 * @param {Section} section
 * @param {readonly string[]} names of all that is to have a row
 * @returns {readonly string[]}
 */
export function findGaps({ title, rows }, names) {
  const covering = rows.flatMap(({ name }) => expandName(name))
  const isBelow = (/** @type {string} */ name, /** @type {string} */ above) =>
    name === above || (name.startsWith(above) && /^[.[]/.test(name.slice(above.length)))
  return [
    ...names
      .filter((name) => !covering.some((above) => isBelow(name, above)))
      .map((name) => `${title}: ${name} has no row`),
    ...covering
      .filter((above) => !names.some((name) => isBelow(name, above)))
      .map((above) => `${title}: there is no ${above}`),
  ]
}
