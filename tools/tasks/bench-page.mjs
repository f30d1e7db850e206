import { writeFileSync } from 'node:fs'
import { reportPage } from '../bench/page.mjs'
import { boundText, resultsOf } from '../bench/targets.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { readReport } from './bench-compare.mjs'

const usage = `Usage: npm run bench:page -- <report.json> <page.html>

Writes a page with plots of a report of npm run bench -- --json, and prints which targets it meets.
`

/**
 * Draws a report of the benchmarks.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args) {
  const [report, page, ...more] = args
  if (report === undefined || page === undefined || more.length > 0 || report.startsWith('-'))
    throw new SetUpError(usage)
  const content = readReport(report)
  writeFileSync(page, reportPage(content))
  for (const { what, bound, value, unit, measured, met } of resultsOf(content)) {
    const state = met === undefined ? 'not measured' : met ? 'met' : 'missed'
    process.stdout.write(
      `${state.padEnd(13)} ${what}: ${boundText({ bound, value, unit })}, measured ${measured ?? '-'}\n`,
    )
  }
  return 0
}
