import ts from 'typescript'

/** @typedef {{ readonly code: string, readonly meaning: string }} ErrorEntry */
/** @typedef {{ readonly file: string, readonly title: string, readonly entries: readonly ErrorEntry[] }} ErrorTable */
/** @typedef {{ readonly tables: readonly ErrorTable[], readonly thrown: readonly ThrownCode[] }} FileErrors */
/** @typedef {{ readonly file: string, readonly line: number, readonly code: string }} ThrownCode */

/** A table of codes is an exported constant with a name of this form. */
const tableName = /(^e|E)rrorCodes$/

/**
 * Reads from one source file the tables of error codes it exports and the codes it throws. The source is parsed, not
 * run: a table is data, whatever its package does when it is imported.
 * @param {string} file
 * @param {string} text
 * @returns {FileErrors}
 */
export function readErrors(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const tables = source.statements.filter(ts.isVariableStatement).flatMap((statement) => readTables(statement, source))
  return { tables, thrown: readThrownCodes(source) }
}

/**
 * @param {ts.VariableStatement} statement
 * @param {ts.SourceFile} source
 * @returns {ErrorTable[]}
 */
function readTables(statement, source) {
  if (!statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return []
  return statement.declarationList.declarations.flatMap(({ name, initializer }) => {
    if (!ts.isIdentifier(name) || !tableName.test(name.text) || initializer === undefined) return []
    const entries = readEntries(initializer, source)
    return [{ file: source.fileName, title: commentAbove(statement, source), entries }]
  })
}

/**
 * @param {ts.Expression} initializer
 * @param {ts.SourceFile} source
 * @returns {ErrorEntry[]}
 */
function readEntries(initializer, source) {
  if (ts.isAsExpression(initializer) || ts.isSatisfiesExpression(initializer)) {
    return readEntries(initializer.expression, source)
  }
  if (!ts.isObjectLiteralExpression(initializer)) throw misshapen(initializer, source)
  return initializer.properties.map((property) => {
    if (!ts.isPropertyAssignment(property) || ts.isComputedPropertyName(property.name))
      throw misshapen(property, source)
    return { code: property.name.getText(source), meaning: literalText(property.initializer, source) }
  })
}

/**
 * @param {ts.Expression} expression
 * @param {ts.SourceFile} source
 * @returns {string}
 */
function literalText(expression, source) {
  if (ts.isStringLiteralLike(expression)) return expression.text
  if (!ts.isBinaryExpression(expression)) throw misshapen(expression, source)
  return literalText(expression.left, source) + literalText(expression.right, source)
}

/**
 * The text of the documentation comment, on one line.
 * @param {ts.Node} node
 * @param {ts.SourceFile} source
 */
function commentAbove(node, source) {
  const text = ts.getTextOfJSDocComment(ts.getJSDocCommentsAndTags(node).find(ts.isJSDoc)?.comment)
  if (text === undefined) throw misshapen(node, source)
  return text.replace(/\s+/g, ' ')
}

/**
 * Codes written out where an OsmError is made. Codes that come from a variable are the compiler's concern.
 * @param {ts.SourceFile} source
 * @returns {ThrownCode[]}
 */
function readThrownCodes(source) {
  /** @type {ThrownCode[]} */
  const found = []
  const visit = (/** @type {ts.Node} */ node) => {
    if (ts.isNewExpression(node) && node.expression.getText(source) === 'OsmError') {
      const [code] = node.arguments ?? []
      if (code !== undefined && ts.isStringLiteralLike(code)) {
        found.push({ file: source.fileName, line: lineOf(code, source), code: code.text })
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/**
 * @param {ts.Node} node
 * @param {ts.SourceFile} source
 */
function misshapen(node, source) {
  const place = `${source.fileName}:${lineOf(node, source)}`
  return new Error(`${place}: a table of error codes is a commented object of codes with literal meanings`)
}

/**
 * @param {ts.Node} node
 * @param {ts.SourceFile} source
 */
function lineOf(node, source) {
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1
}
