/**
 * Draws what a program printed on a terminal, colours included, as an SVG picture:
 *
 *   FORCE_COLOR=1 npm run --silent demo -- --once | node tools/terminal-svg.mjs "npm run demo -- --once" > docs/images/demo.svg
 */
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const cell = { width: 8.4, height: 18 }
const margin = 16
const titleBar = 30
const palette = {
  background: '#161b22',
  bar: '#21262d',
  text: '#d6dde6',
  // By the number in the escape sequence: bold, dim, and the foreground colours in use.
  1: '#ffffff',
  2: '#8b949e',
  31: '#ff7b72',
  32: '#56d364',
  33: '#e3b341',
  36: '#79c0ff',
}

/** @typedef {{ readonly text: string, readonly code: string }} Run text and the parameters of the escape sequence it stands under */

/**
 * The runs of one line. Sequences other than colours are dropped.
 * @param {string} line
 * @returns {Run[]}
 */
export function parseLine(line) {
  // eslint-disable-next-line no-control-regex -- escape sequences are what is parsed here
  const pieces = line.split(/\u001B\[([0-9;?]*)([A-Za-z])/)
  /** @type {Run[]} */
  const runs = []
  let code = ''
  for (let index = 0; index < pieces.length; index += 3) {
    const text = pieces[index] ?? ''
    if (text !== '') runs.push({ text, code })
    if (pieces[index + 2] === 'm') code = pieces[index + 1] === '0' ? '' : (pieces[index + 1] ?? '')
  }
  return runs
}

/**
 * @param {string} text
 * @param {{ title: string }} options
 */
export function terminalSvg(text, { title }) {
  const lines = text.replace(/\n+$/, '').split('\n').map(parseLine)
  const columns = Math.max(60, ...lines.map((runs) => runs.reduce((sum, run) => sum + Array.from(run.text).length, 0)))
  const width = Math.ceil(columns * cell.width) + 2 * margin
  const height = lines.length * cell.height + titleBar + 2 * margin
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeXml(title)}">`,
    `<rect width="${width}" height="${height}" rx="8" fill="${palette.background}"/>`,
    `<path d="M0 ${titleBar}V8a8 8 0 0 1 8-8H${width - 8}a8 8 0 0 1 8 8V${titleBar}Z" fill="${palette.bar}"/>`,
    `<text x="${width / 2}" y="20" text-anchor="middle" font-family="system-ui, sans-serif" font-size="13" fill="${palette[2]}">${escapeXml(title)}</text>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="${palette.text}">`,
    ...lines.flatMap((runs, row) => lineElements(runs, titleBar + margin + (row + 0.75) * cell.height)),
    '</g>',
    '</svg>',
    '',
  ].join('\n')
}

/**
 * Words are placed by their column, and each is as wide as its cells: whatever font there is, columns stay columns.
 * @param {readonly Run[]} runs
 * @param {number} y
 */
function lineElements(runs, y) {
  let column = 0
  return runs.flatMap(({ text, code }) => {
    const start = column
    column += Array.from(text).length
    const style = styleOf(code)
    return [...text.matchAll(/\S+(?: \S+)*/g)].map((match) => {
      const before = Array.from(text.slice(0, match.index)).length
      const length = Array.from(match[0]).length
      const x = (margin + (start + before) * cell.width).toFixed(1)
      return `<text x="${x}" y="${y}" textLength="${(length * cell.width).toFixed(1)}" lengthAdjust="spacingAndGlyphs"${style}>${escapeXml(match[0])}</text>`
    })
  })
}

/** @param {string} code */
function styleOf(code) {
  const color = /** @type {Record<string, string>} */ (palette)[code]
  return `${color === undefined ? '' : ` fill="${color}"`}${code === '1' ? ' font-weight="bold"' : ''}`
}

/** @param {string} text */
function escapeXml(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  process.stdout.write(terminalSvg(readFileSync(0, 'utf8'), { title: process.argv[2] ?? 'npm run demo' }))
