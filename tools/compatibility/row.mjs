/**
 * What becomes of one thing that OSM or osm-edge let people write.
 *
 * @typedef {object} Row
 * @property {string} name as it is written; for a value or field it stands for everything below it that has no row of its own
 * @property {Status} status
 * @property {string} [note] the reason; always there for `never` and `refused`
 * @property {readonly string[]} tests files that show it, or that tests read; none for what is missing
 * @property {string} [word] what those files call it, where that is not the last part of the name
 */

/** @typedef {'works' | 'never' | 'refused' | 'missing'} Status */
/** @typedef {{ readonly title: string, readonly introduction: string, readonly rows: readonly Row[] }} Section */

/**
 * What each status means.
 * @type {Readonly<Record<Status, string>>}
 */
export const statuses = {
  works: 'works as in OSM or osm-edge',
  never: 'accepted, permanently without effect; the note gives the reason',
  refused: 'refused with an error that names the alternative',
  missing: 'not available',
}

/**
 * Makes a row of something that does what it did.
 * @param {string} name
 * @param {string | readonly string[]} tests
 * @param {{ note?: string, word?: string }} [more]
 * @returns {Row}
 */
export function works(name, tests, more = {}) {
  return { name, status: 'works', tests: [tests].flat(), ...more }
}

/**
 * Makes a row of something without effect.
 * @param {string} name
 * @param {string} note
 * @param {string | readonly string[]} tests
 * @param {{ word?: string }} [more]
 * @returns {Row}
 */
export function never(name, note, tests, more = {}) {
  return { name, status: 'never', note, tests: [tests].flat(), ...more }
}

/**
 * Makes a row of something that is not there.
 * @param {string} name
 * @param {string} [note]
 * @returns {Row}
 */
export function missing(name, note) {
  return { name, status: 'missing', tests: [], ...(note === undefined ? {} : { note }) }
}

/**
 * Makes a row of something that is refused.
 * @param {string} name
 * @param {string} note
 * @param {string | readonly string[]} tests
 * @param {{ word?: string }} [more]
 * @returns {Row}
 */
export function refused(name, note, tests, more = {}) {
  return { name, status: 'refused', note, tests: [tests].flat(), ...more }
}

/**
 * The names that a row stands for: `a.{b,c}[].d` for `a.b[].d` and `a.c[].d`.
 * @param {string} name
 * @returns {readonly string[]}
 */
export function expandName(name) {
  const [, before = '', choices, after = ''] = /^([^{]*)\{([^}]*)\}(.*)$/.exec(name) ?? []
  if (choices === undefined) return [name]
  return choices.split(',').flatMap((choice) => expandName(`${before}${choice}${after}`))
}
