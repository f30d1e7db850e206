import { writeFileSync } from 'node:fs'

/** @typedef {{ readonly passed: number, readonly failed: number, readonly skipped: number }} Counts */

/** @type {Counts} */
export const noTests = { passed: 0, failed: 0, skipped: 0 }

/**
 * @param {readonly Counts[]} parts
 * @returns {Counts}
 */
export function sumCounts(parts) {
  return parts.reduce(
    (sum, part) => ({
      passed: sum.passed + part.passed,
      failed: sum.failed + part.failed,
      skipped: sum.skipped + part.skipped,
    }),
    noTests,
  )
}

/**
 * The form of a run's last line, and of nothing else: anyone who reads the output finds one such line.
 * @param {Counts} counts
 */
export function finalLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`
}

/**
 * The form for a part of a run.
 * @param {string} name
 * @param {Counts} counts
 */
export function partLine(name, { passed, failed, skipped }) {
  return `${name}: passed=${passed} failed=${failed} skipped=${skipped}`
}

/**
 * Writes down what a tier has counted so far, for the run it is part of: one that is ended because its time is over has then not counted in vain.
 * @param {Counts} counts
 * @param {NodeJS.ProcessEnv} env
 */
export function keepCounts(counts, env = process.env) {
  if (env.OSM_COUNTS_FILE) writeFileSync(env.OSM_COUNTS_FILE, JSON.stringify(counts))
}

/**
 * Prints the outcome of a run: as the final line, or, where the run is one tier of a larger one that reads
 * OSM_COUNTS_FILE, into that file and as a part.
 * @param {string} name
 * @param {Counts} counts
 * @param {NodeJS.ProcessEnv} env
 */
export function reportCounts(name, counts, env = process.env) {
  keepCounts(counts, env)
  process.stdout.write(`${env.OSM_COUNTS_FILE ? partLine(name, counts) : finalLine(counts)}\n`)
}

/**
 * @param {unknown} value parsed JSON
 * @returns {Counts}
 */
export function parseCounts(value) {
  const { passed, failed, skipped } = /** @type {Record<string, unknown>} */ (value ?? {})
  if (!isCount(passed) || !isCount(failed) || !isCount(skipped)) throw new Error('counts are three whole numbers')
  return { passed, failed, skipped }
}

/**
 * @param {unknown} value
 * @returns {value is number}
 */
function isCount(value) {
  return Number.isInteger(value) && Number(value) >= 0
}
