import { renderGuides } from './guides.mjs'
import { plans, statuses } from './row.mjs'

/** @typedef {import('./row.mjs').Row} Row */
/** @typedef {import('./row.mjs').Section} Section */

const introduction = `# Compatibility

What OSM 1.2 and osm-edge 1.3 let people write, what becomes of it here, and which test shows it. Where the two differ,
both are listed. Names that only osm-ts has are in the list where they belong; the note says that they are new.
`

const ending = `
The rows are data in \`tools/compatibility\`. \`npm run check -- compatibility\` refuses a row whose tests do not exist or do
not mention it, a field of MeshConfig or a value of the chart without a row, and a row about nothing; with \`--fix\` it
writes this page.
`

/** @param {readonly Section[]} sections */
export function renderPage(sections) {
  return [introduction, legend(sections), ending, ...sections.map(renderSection), renderGuides()].join('\n')
}

/** @param {readonly Section[]} sections */
function legend(sections) {
  const rows = sections.flatMap((section) => section.rows)
  const lines = Object.entries(statuses).map(([status, meaning]) => {
    const count = rows.filter((row) => row.status === status).length
    return `| ${status} | ${meaning} | ${count} |`
  })
  return ['| status | meaning | rows |', '| --- | --- | --- |', ...lines].join('\n')
}

/** @param {Section} section */
function renderSection({ title, introduction: text, rows }) {
  const lines = rows.map((row) => `| \`${row.name}\` | ${statusOf(row)} | ${cell(row.note ?? '')} | ${testsOf(row)} |`)
  return [
    `## ${title}\n`,
    `${text}\n`,
    '| name | status | note | shown by |',
    '| --- | --- | --- | --- |',
    ...lines,
    '',
  ].join('\n')
}

/** @param {Row} row */
function statusOf({ status, plan }) {
  return plan === undefined ? status : `${status}: ${plans[plan]}`
}

/** @param {Row} row */
function testsOf({ tests }) {
  return tests.map((path) => `[${path.slice(path.lastIndexOf('/') + 1)}](../../${path})`).join(', ')
}

/** @param {string} text */
function cell(text) {
  return text.replaceAll('|', '\\|')
}
