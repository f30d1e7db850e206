import { LineCounter, isMap, isScalar, parseDocument } from 'yaml'

/**
 * @typedef {object} ChartValue a value of the chart as values.yaml declares it
 * @property {string} path keys joined by dots
 * @property {string} description
 * @property {string | undefined} form one of forms.mjs
 * @property {Readonly<Record<string, unknown>> | undefined} refinement of the schema that the default gives
 * @property {unknown} default
 * @property {readonly ChartValue[]} children empty for values that have no further keys or whose keys are the user's
 */

const directive = /^@(form|schema) (.+)$/

/**
 * Reads values.yaml with the comments above its keys.
 * @param {string} text
 * @returns {readonly ChartValue[]} the top-level values, in the order of the file
 * @throws {Error} naming the line, if a value has no description or a comment can't be read
 */
export function readChartValues(text) {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter })
  const [fault] = document.errors
  if (fault !== undefined) throw new Error(`values.yaml: ${fault.message}`)
  const lines = text.split('\n')
  return valuesOf(document.contents, '', (offset) => commentAbove(lines, lineCounter.linePos(offset).line))
}

/**
 * @param {unknown} node
 * @param {string} parent
 * @param {(offset: number) => readonly string[]} commentOf
 * @returns {readonly ChartValue[]}
 */
function valuesOf(node, parent, commentOf) {
  if (!isMap(node)) throw new Error(`values.yaml: ${parent || 'the document'} is no map`)
  return node.items.map(({ key, value }) => {
    if (!isScalar(key) || typeof key.value !== 'string' || !key.range)
      throw new Error(`values.yaml: a key of ${parent}`)
    const path = parent === '' ? key.value : `${parent}.${key.value}`
    const { description, form, refinement } = readComment(path, commentOf(key.range[0]))
    const open = isMap(value) && (form === undefined || form === 'subchart') && refinement === undefined
    return {
      path,
      description,
      form,
      refinement,
      default: /** @type {{ toJSON(): unknown }} */ (value).toJSON(),
      children: open ? valuesOf(value, path, commentOf) : [],
    }
  })
}

/**
 * The comment lines directly above a line, without their hashes.
 * @param {readonly string[]} lines
 * @param {number} line counted from 1
 */
function commentAbove(lines, line) {
  const comment = []
  for (let index = line - 2; index >= 0; index -= 1) {
    const text = lines[index]?.trim() ?? ''
    if (!text.startsWith('#')) break
    comment.unshift(text.replace(/^#+ ?/, ''))
  }
  return comment
}

/**
 * @param {string} path
 * @param {readonly string[]} comment
 */
function readComment(path, comment) {
  const description = comment.filter((line) => !line.startsWith('@')).join(' ')
  if (description === '') throw new Error(`values.yaml: ${path} has no comment that says what it is`)
  /** @type {{ form?: string, refinement?: Readonly<Record<string, unknown>> }} */
  const found = {}
  for (const line of comment.filter((text) => text.startsWith('@'))) {
    const [, kind, text = ''] = directive.exec(line) ?? []
    if (kind === 'form') found.form = text
    else if (kind === 'schema') found.refinement = parseDocument(text).toJS()
    else throw new Error(`values.yaml: ${path}: "${line}" is neither @form nor @schema`)
  }
  return { description, form: found.form, refinement: found.refinement }
}
