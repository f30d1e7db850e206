import { readFileSync, writeFileSync } from 'node:fs'
import { targetTable, withTable } from '../bench/table.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { readReport } from './bench-compare.mjs'

const usage = `Usage: npm run bench:table -- <report.json> [--write <page.md>]

Prints the targets and what a report of npm run bench -- --json has measured of them, as a table in Markdown: target, figure, met or missed, and the reason where it is missed.
--write puts the table into a page that has a place for it, such as docs/benchmarks.md.
`

/**
 * Writes the table of targets.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args) {
  const [report, flag, path, ...more] = args
  const isKnown = flag === undefined || (flag === '--write' && path !== undefined)
  if (report === undefined || report.startsWith('-') || !isKnown || more.length > 0) throw new SetUpError(usage)
  const table = targetTable(readReport(report))
  if (path === undefined) {
    process.stdout.write(`${table}\n`)
    return 0
  }
  const page = withTable(readFileSync(path, 'utf8'), table)
  if (page === undefined) throw new SetUpError(`${path} has no place for a table of targets.`)
  writeFileSync(path, page)
  return 0
}
