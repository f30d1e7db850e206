import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { compareReports, comparisonLines } from '../bench/compare.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'

const usage = `Usage: npm run bench:compare -- <before.json> <after.json> [--limit <percent>] [--json]

Compares two reports of npm run bench -- --json and tells the figures that changed by more than 10 percent, or that limit. Whether more is better depends on the figure.
Exit code: 0 if none did, 1 if some did.
`

/**
 * Compares two reports of the benchmarks.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args) {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      limit: { type: 'string', default: '10' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(usage)
    return 0
  }
  const [before, after, ...more] = positionals
  const limit = Number(values.limit) / 100
  if (before === undefined || after === undefined || more.length > 0 || !(limit >= 0)) throw new SetUpError(usage)
  const comparison = compareReports(readReport(before), readReport(after), limit)
  const text = values.json ? JSON.stringify(comparison) : comparisonLines(comparison, limit).join('\n')
  process.stdout.write(`${text}\n`)
  return comparison.changes.length === 0 ? 0 : 1
}

/**
 * A report is the last line of what the benchmarks print, or its own file over several lines.
 * @param {string} path
 * @returns {unknown}
 * @throws SetUpError
 */
export function readReport(path) {
  try {
    const text = readFileSync(path, 'utf8').trim()
    return JSON.parse(text.startsWith('{') ? text : (text.split('\n').at(-1) ?? ''))
  } catch (cause) {
    throw new SetUpError(
      `${path} holds no report of npm run bench -- --json: ${cause instanceof Error ? cause.message : String(cause)}`,
    )
  }
}
