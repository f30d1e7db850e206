import { readFileSync, writeFileSync } from 'node:fs'
import { joinedReports, targetTable, withTable } from '../bench/table.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { readReport } from './bench-compare.mjs'

const usage = `Usage: npm run bench:table -- <report.json>... [--write <page.md>]

Prints the targets and what reports of npm run bench -- --json have measured of them, as a table in Markdown: target, figure, met or missed, and the reason where it is missed.
--write puts the table into a page that has a place for it, such as docs/benchmarks.md.
`

/**
 * Writes the table of targets.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args) {
  const at = args.indexOf('--write')
  const [reports, [, path, ...more]] = at === -1 ? [args, []] : [args.slice(0, at), args.slice(at)]
  const isUsable = reports.length > 0 && !reports.some((report) => report.startsWith('-'))
  if (!isUsable || more.length > 0 || (at !== -1 && path === undefined)) throw new SetUpError(usage)
  const table = targetTable(joined(reports))
  if (path === undefined) {
    process.stdout.write(`${table}\n`)
    return 0
  }
  const page = withTable(readFileSync(path, 'utf8'), table)
  if (page === undefined) throw new SetUpError(`${path} has no place for a table of targets.`)
  writeFileSync(path, page)
  return 0
}

/** @param {readonly string[]} paths */
function joined(paths) {
  try {
    return joinedReports(paths.map((path) => readReport(path)))
  } catch (error) {
    if (error instanceof RangeError) throw new SetUpError(`${paths.join(', ')}: ${error.message}.`)
    throw error
  }
}
