/** @typedef {import('./values.mjs').ChartValue} ChartValue */

const introduction = `# Values of the chart

All values of \`charts/osm\`. Names, meanings and defaults are those of Open Service Mesh and osm-edge, unless a line states otherwise.
[Installing](../guides/install.md) shows the most common values.

- "Written to MeshConfig": the first installation writes the value to the MeshConfig. Make later changes in the MeshConfig. An upgrade adds new fields
  and never overwrites existing ones.
- "Not available": a different value is refused with a message.
- "Not used": the value is accepted for compatibility with OSM and osm-edge, without effect.

\`e2e/api/chart-every-value.test.ts\` sets each value of this page and checks its effect. \`charts/osm/testdata\` contains the rendered objects for
sets of values.

This page is generated from the comments in \`charts/osm/values.yaml\` by \`npm run check -- chart --fix\`; change the comments, not the page.
`

/** Longer defaults are in values.yaml only. */
const longestDefault = 60

/**
 * @param {readonly ChartValue[]} values
 * @returns {string} docs/reference/chart.md
 */
export function renderChartReference(values) {
  const rows = values.flatMap(rowsOf)
  return [introduction, '| value | default | meaning |', '| --- | --- | --- |', ...rows, ''].join('\n')
}

/**
 * @param {ChartValue} value
 * @returns {readonly string[]}
 */
function rowsOf(value) {
  if (value.children.length > 0) {
    return [`| \`${value.path}\` | | ${cell(value.description)} |`, ...value.children.flatMap(rowsOf)]
  }
  return [`| \`${value.path}\` | ${defaultOf(value)} | ${cell(value.description)}${choices(value)} |`]
}

/** @param {ChartValue} value */
function defaultOf(value) {
  const text = value.default === '' ? '""' : JSON.stringify(value.default).replace(/^"(.*)"$/, '$1')
  return text.length > longestDefault ? 'see `values.yaml`' : `\`${cell(text)}\``
}

/** @param {ChartValue} value */
function choices({ refinement }) {
  const words = refinement?.enum
  return Array.isArray(words) ? ` One of ${words.map((word) => `\`${word || '""'}\``).join(', ')}.` : ''
}

/** @param {string} text */
function cell(text) {
  return text.replaceAll('|', '\\|')
}
