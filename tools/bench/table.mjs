import { boundText, resultsOf } from './targets.mjs'

/** Between these lines of a page stands the table, and nothing that is written by hand. */
const begin = '<!-- targets: npm run bench:table -->'
const end = '<!-- end of targets -->'

/**
 * The targets and what came of them as a table in Markdown, with the conditions of the report above it.
 * @param {unknown} report of the benchmarks
 * @returns {string} lines, without one at the end
 */
export function targetTable(report) {
  const rows = resultsOf(report).map(({ what, path, bound, value, unit, measured, bare, met, whenMissed }) => {
    const state = met === undefined ? 'not measured' : met ? 'met' : '**missed**'
    const shown = measured === undefined ? '' : figureText(measured, unit)
    const floor = bare === undefined ? '' : `bare server: ${figureText(bare, unit)}; `
    const reason = met === undefined ? commandFor(path) : met ? '' : `${floor}${whenMissed ?? 'not known yet'}`
    return [what, boundText({ bound, value, unit }), shown, state, reason]
  })
  return [conditionsOf(report), '', ...markdownTable([['What', 'Target', 'Measured', '', 'Reason'], ...rows])].join(
    '\n',
  )
}

/**
 * What measures a figure.
 * @param {string} path of the figure
 */
function commandFor(path) {
  return `\`npm run bench -- ${/^[\w-]+/.exec(path)?.[0] ?? ''}\` measures it`
}

/**
 * One report of several, each of which holds other benchmarks; of one that two of them hold, the later counts.
 * @param {readonly unknown[]} reports
 * @returns {unknown}
 * @throws {RangeError} if they come from different machines or versions of Node, or some of them are quick
 */
export function joinedReports(reports) {
  const records = /** @type {readonly Readonly<Record<string, unknown>>[]} */ (reports)
  const conditions = new Set(records.map(({ machine, quick }) => JSON.stringify([machine, quick])))
  if (conditions.size > 1) throw new RangeError('the reports were not measured under the same conditions')
  const seconds = Object.assign({}, ...records.map((each) => each.seconds ?? {}))
  return Object.assign({}, ...records, { seconds })
}

/**
 * A page with another table of targets.
 * @param {string} page
 * @param {string} table
 * @returns {string | undefined} undefined where the page has no place for it
 */
export function withTable(page, table) {
  const [start, stop] = [page.indexOf(begin), page.indexOf(end)]
  if (start === -1 || stop < start) return undefined
  return `${page.slice(0, start)}${begin}\n\n${table}\n\n${page.slice(stop)}`
}

/** @param {unknown} report */
function conditionsOf(report) {
  const { machine, quick, seconds } =
    /** @type {{ machine?: Readonly<Record<string, string | number>>, quick?: boolean, seconds?: Readonly<Record<string, number>> }} */ (
      report ?? {}
    )
  if (machine === undefined) return 'Nothing has been measured yet.'
  const { cpu, cores, memoryGiB, node } = machine
  const took = Object.values(seconds ?? {}).reduce((sum, each) => sum + each, 0)
  return [
    `Measured on ${String(cpu)}, ${String(cores)} cores, ${String(memoryGiB)} GiB, Node ${String(node).replace(/^v/, '')}`,
    quick === true ? ', with few repetitions (`--quick`)' : '',
    took > 0 ? `; the benchmarks of the report took ${(took / 60).toFixed(1)} minutes` : '',
    '.',
  ].join('')
}

/**
 * As prettier lays tables out, so that a page with one needs no further hand.
 * @param {readonly (readonly string[])[]} rows the first is the head
 * @returns {readonly string[]}
 */
function markdownTable(rows) {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll('|', String.raw`\|`)))
  const widths = (cells[0] ?? []).map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)))
  const line = (/** @type {readonly string[]} */ row) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const [head = [], ...body] = cells
  return [line(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...body.map(line)]
}

/**
 * @param {number} value
 * @param {string} unit
 */
function figureText(value, unit) {
  const number = value.toLocaleString('en-US', { maximumSignificantDigits: Math.abs(value) >= 100 ? 6 : 3 })
  return unit === '' ? number : `${number} ${unit}`
}
