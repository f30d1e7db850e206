/** @typedef {import('./values.mjs').ChartValue} ChartValue */

const introduction = `# Values of the chart

Every value of \`charts/osm\`. Names, meanings and, where the line does not say otherwise, defaults are those of Open Service Mesh and osm-edge.
[Installing](../guides/install.md) shows the ones that most people set.

- "Written to MeshConfig": the value is in the MeshConfig that the first installation creates. Later changes belong into the MeshConfig itself; an
  upgrade adds what is new to it and never overwrites existing values.
- "Not available": setting it is refused with a message, rather than accepted without effect.
- "Not used": accepted, because values written for OSM or osm-edge may hold it, and without any effect.

\`e2e/api/chart-every-value.test.ts\` sets each value of this page and says what changes by it. What sets of values lead to is in
\`charts/osm/testdata\`.

This page is made from the comments in \`charts/osm/values.yaml\` by \`npm run check -- chart --fix\`; change them, not the page.
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
