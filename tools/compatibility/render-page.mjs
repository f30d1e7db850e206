import { renderGuides } from './guides.mjs'
import { statuses } from './row.mjs'

/** @typedef {import('./row.mjs').Row} Row */
/** @typedef {import('./row.mjs').Section} Section */

const introduction = `# Compatibility

The interfaces of OSM 1.2 and osm-edge 1.3, their status in osm-ts, and the tests that show it. Where OSM and osm-edge
differ, both are listed. Names that only osm-ts has are marked as new.
`

const ending = `
The rows are data in \`tools/compatibility\`. \`npm run check -- compatibility\` fails if the tests of a row do not exist or do
not mention it. It also fails if a field of MeshConfig or a value of the chart has no row, or if a row names neither. With
\`--fix\`, it generates this page.
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
  const lines = rows.map((row) => `| \`${row.name}\` | ${row.status} | ${cell(row.note ?? '')} | ${testsOf(row)} |`)
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
function testsOf({ tests }) {
  return tests.map((path) => `[${path.slice(path.lastIndexOf('/') + 1)}](../../${path})`).join(', ')
}

/** @param {string} text */
function cell(text) {
  return text.replaceAll('|', '\\|')
}
