import { figuresOf } from './figures.mjs'

/**
 * A figure of two reports. `change` is the share by which it grew, negative where it shrank; undefined where it was 0 and is not any more.
 * @typedef {{ readonly path: string, readonly before: number, readonly after: number, readonly change: number | undefined }} Change
 */
/**
 * What two reports have to say to each other.
 * @typedef {object} Comparison
 * @property {readonly Change[]} changes those beyond the limit, the largest first
 * @property {number} compared how many figures both have
 * @property {readonly string[]} gone paths that only the first has
 * @property {readonly string[]} added paths that only the second has
 * @property {readonly string[]} differing what the reports were made on or by that is not the same, so that figures say little
 */

/**
 * Finds the figures that changed by more than a share.
 * @param {unknown} before a report of the benchmarks
 * @param {unknown} after
 * @param {number} limit such as 0.1
 * @returns {Comparison}
 */
export function compareReports(before, after, limit) {
  const [first, second] = [before, after].map((report) => new Map(figuresOf(report).map((f) => [f.path, f.value])))
  const both = [...(first ?? [])].flatMap(([path, value]) => {
    const now = second?.get(path)
    return now === undefined ? [] : [{ path, before: value, after: now, change: changeOf(value, now) }]
  })
  const magnitude = (/** @type {Change} */ { change = Infinity }) => Math.abs(Math.log(Math.max(1 + change, 1e-9)))
  return {
    changes: both
      .filter(({ change }) => change === undefined || Math.abs(change) > limit)
      .sort((a, b) => magnitude(b) - magnitude(a)),
    compared: both.length,
    gone: [...(first?.keys() ?? [])].filter((path) => second?.has(path) !== true),
    added: [...(second?.keys() ?? [])].filter((path) => first?.has(path) !== true),
    differing: differences(before, after),
  }
}

/**
 * @param {number} before
 * @param {number} after
 */
function changeOf(before, after) {
  if (before === after) return 0
  return before === 0 ? undefined : (after - before) / Math.abs(before)
}

/**
 * @param {unknown} before
 * @param {unknown} after
 */
function differences(before, after) {
  const [a, b] = [before, after].map((report) => conditionsOf(report))
  return Object.keys({ ...a, ...b })
    .filter((name) => a?.[name] !== b?.[name])
    .map((name) => `${name}: ${a?.[name] ?? 'not said'}, then ${b?.[name] ?? 'not said'}`)
}

/**
 * @param {unknown} report
 * @returns {Readonly<Record<string, string>>}
 */
function conditionsOf(report) {
  const { machine = {}, quick } = /** @type {{ machine?: Record<string, string | number>, quick?: boolean }} */ (
    report ?? {}
  )
  return Object.fromEntries(
    Object.entries({ ...machine, ...(quick !== undefined && { quick }) }).map(([name, value]) => [name, String(value)]),
  )
}

/**
 * For people.
 * @param {Comparison} comparison
 * @param {number} limit
 * @returns {readonly string[]} lines
 */
export function comparisonLines({ changes, compared, gone, added, differing }, limit) {
  const width = Math.max(0, ...changes.map(({ path }) => path.length))
  return [
    ...differing.map((line) => `not the same conditions: ${line}`),
    ...changes.map(({ path, before, after, change }) => {
      const share = change === undefined ? 'was 0' : `${change > 0 ? '+' : ''}${(change * 100).toFixed(1)} %`
      return `${path.padEnd(width)}  ${share.padStart(10)}  ${before} → ${after}`
    }),
    ...(gone.length > 0 ? [`only before: ${gone.length} figures, such as ${gone[0]}`] : []),
    ...(added.length > 0 ? [`only after: ${added.length} figures, such as ${added[0]}`] : []),
    `${changes.length} of ${compared} figures changed by more than ${limit * 100} %`,
  ]
}
