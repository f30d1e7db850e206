import { figuresOf } from './figures.mjs'
import { boundText, resultsOf } from './targets.mjs'

/**
 * A distribution as the benchmarks write it.
 * @typedef {{ readonly min: number, readonly p50: number, readonly p99: number, readonly max: number }} Distribution
 */

const chart = { label: 330, width: 560, row: 26, margin: 34 }

/**
 * A page with plots of a report. It needs nothing but itself.
 * @param {unknown} report of the benchmarks
 * @returns {string} HTML
 */
export function reportPage(report) {
  const { machine = {}, quick } = /** @type {{ machine?: Record<string, unknown>, quick?: unknown }} */ (report ?? {})
  const conditions = [
    ...Object.entries(machine).map(([name, value]) => `${name} ${String(value)}`),
    ...(quick === true ? ['few repetitions'] : []),
  ]
  const sections = Object.entries(/** @type {Record<string, unknown>} */ (report ?? {})).filter(
    ([name]) => !['machine', 'quick', 'seconds'].includes(name),
  )
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Benchmarks of osm-ts</title>
<style>${style}</style>
<h1>Benchmarks of osm-ts</h1>
<p>${escape(conditions.join(', '))}</p>
${targetTable(report)}
${sections.map(([name, content]) => section(name, content)).join('\n')}
</html>
`
}

const style = `
:root { color-scheme: light dark; --ink: #1c2733; --dim: #6b7886; --line: #d5dbe1; --bar: #4a7dbd; --good: #1d7a46; --bad: #b3372b; --paper: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ee; --dim: #97a3af; --line: #39444f; --bar: #7eabe3; --good: #5cc48b; --bad: #f08a7e; --paper: #161c22 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1000px; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-top: 1px solid var(--line); padding-top: 1rem }
table { border-collapse: collapse; width: 100%; font-size: 14px } td, th { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line) }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap } .met { color: var(--good) } .missed { color: var(--bad) } .none { color: var(--dim) }
svg { width: 100%; height: auto } text { font: 12px system-ui, sans-serif; fill: var(--ink) } text.dim { fill: var(--dim) }
line.axis { stroke: var(--line) } line.range { stroke: var(--bar); stroke-width: 3; opacity: .45 } line.p99 { stroke: var(--bar); stroke-width: 2 } circle { fill: var(--bar) }`

/** @param {unknown} report */
function targetTable(report) {
  const rows = resultsOf(report).map(({ what, bound, value, unit, measured, met }) => {
    const [state, word] = met === undefined ? ['none', 'not measured'] : met ? ['met', '✓ met'] : ['missed', '✗ missed']
    const shown = measured === undefined ? '' : `${shortNumber(measured)}${unit === '' ? '' : ` ${unit}`}`
    return `<tr><td>${escape(what)}<td class="number">${escape(boundText({ bound, value, unit }))}<td class="number">${escape(shown)}<td class="${state}">${word}`
  })
  return `<table><tr><th>what<th>target<th>measured<th>${rows.join('\n')}</table>`
}

/**
 * @param {string} name
 * @param {unknown} content
 */
function section(name, content) {
  const distributions = distributionsOf(content)
  const inPlots = distributions.map(({ path }) => `${path}.`)
  const others = figuresOf(content).filter(({ path }) => !inPlots.some((start) => path.startsWith(start)))
  const table = others.map(
    ({ path, value }) => `<tr><td>${escape(path)}<td class="number">${escape(shortNumber(value))}`,
  )
  return `<h2 id="${escape(name)}">${escape(name)}</h2>
${distributions.length === 0 ? '' : plot(distributions)}
${table.length === 0 ? '' : `<details${distributions.length === 0 ? ' open' : ''}><summary>${table.length} single figures</summary><table>${table.join('\n')}</table></details>`}`
}

/**
 * @param {unknown} value
 * @returns {readonly { readonly path: string, readonly of: Distribution }[]}
 */
function distributionsOf(value) {
  const found = new Map(figuresOf(value).map((figure) => [figure.path, figure.value]))
  return [...found.keys()]
    .filter((key) => key === 'p50' || key.endsWith('.p50'))
    .flatMap((key) => {
      const start = key.slice(0, -'p50'.length)
      const [min, p50, p99, max] = ['min', 'p50', 'p99', 'max'].map((name) => found.get(`${start}${name}`))
      if (min === undefined || p50 === undefined || p99 === undefined || max === undefined) return []
      return [{ path: start.replace(/\.$/, ''), of: { min, p50, p99, max } }]
    })
}

/**
 * Rows on one logarithmic axis: from the least to the most a line, at the median a dot, at p99 a stroke.
 * @param {readonly { readonly path: string, readonly of: Distribution }[]} rows
 */
function plot(rows) {
  const positive = rows.flatMap(({ of }) => Object.values(of)).filter((value) => value > 0)
  const [low, high] = [
    Math.floor(Math.log10(Math.min(1, ...positive))),
    Math.ceil(Math.log10(Math.max(10, ...positive))),
  ]
  const x = (/** @type {number} */ value) =>
    chart.label + (chart.width * (Math.log10(Math.max(value, 10 ** low)) - low)) / (high - low)
  const height = rows.length * chart.row + chart.margin
  const ticks = Array.from({ length: high - low + 1 }, (_, n) => 10 ** (low + n)).map(
    (value) =>
      `<line class="axis" x1="${x(value).toFixed(1)}" x2="${x(value).toFixed(1)}" y1="0" y2="${height - 22}"/><text class="dim" x="${x(value).toFixed(1)}" y="${height - 6}" text-anchor="middle">${shortNumber(value)}</text>`,
  )
  const drawn = rows.map(({ path, of: { min, p50, p99, max } }, index) => {
    const y = index * chart.row + chart.row / 2
    const title = `min ${shortNumber(min)}, median ${shortNumber(p50)}, p99 ${shortNumber(p99)}, max ${shortNumber(max)}`
    return `<g><title>${escape(`${path}: ${title}`)}</title><text x="${chart.label - 10}" y="${y + 4}" text-anchor="end">${escape(path === '' ? 'all' : path)}</text>
<line class="range" x1="${x(min).toFixed(1)}" x2="${x(max).toFixed(1)}" y1="${y}" y2="${y}"/><line class="p99" x1="${x(p99).toFixed(1)}" x2="${x(p99).toFixed(1)}" y1="${y - 7}" y2="${y + 7}"/><circle cx="${x(p50).toFixed(1)}" cy="${y}" r="4.5"/><text class="dim" x="${(x(max) + 8).toFixed(1)}" y="${y + 4}">${shortNumber(p50)} / ${shortNumber(p99)}</text></g>`
  })
  return `<svg viewBox="0 0 ${chart.label + chart.width + 110} ${height}" role="img" aria-label="distributions">${ticks.join('')}${drawn.join('\n')}</svg>`
}

/** @param {number} value */
function shortNumber(value) {
  return value.toLocaleString('en-US', { maximumSignificantDigits: Math.abs(value) >= 1000 ? 6 : 3 })
}

/** @param {string} text */
function escape(text) {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
