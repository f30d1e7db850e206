import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'

/** Paths of the sources below a folder, tests excluded, sorted. */
export function sourceFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(folder, name))
    .sort()
}

/**
 * What lacks documentation in a source file, as `file:line what`.
 *
 * Exported declarations, members of exported interfaces and classes, and those variants of an exported union that hold more than discriminators need
 * a TSDoc comment; an exported function or method that throws by itself needs `@throws`; a number that measures time needs a unit in its name and its comment.
 */
export function undocumented(path: string, root: string, text = readFileSync(path, 'utf8')): readonly string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const found: string[] = []
  const report = (node: ts.Node, what: string): void => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart())
    found.push(`${relative(root, path)}:${line + 1} ${what}`)
  }
  for (const statement of source.statements) {
    if (!isExported(statement) || ts.isExportDeclaration(statement)) continue
    const name = declaredName(statement)
    if (!hasDoc(statement)) report(statement, name)
    checkThrows(statement, name, report)
    if (ts.isInterfaceDeclaration(statement)) checkMembers(statement.members, name, report)
    if (ts.isClassDeclaration(statement)) checkMembers(statement.members.filter(isPublic), name, report)
    if (ts.isTypeAliasDeclaration(statement)) checkAlias(statement, name, report)
  }
  return found
}

/** Names of the members of an interface in a source file. */
export function membersOf(path: string, name: string): readonly string[] {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true)
  const found = source.statements.find((node) => ts.isInterfaceDeclaration(node) && node.name.text === name)
  if (found === undefined || !ts.isInterfaceDeclaration(found)) throw new Error(`${path} declares no interface ${name}`)
  return found.members.flatMap((member) => (member.name === undefined ? [] : [member.name.getText()]))
}

type Report = (node: ts.Node, what: string) => void

function isExported(node: ts.Statement): boolean {
  return ts.canHaveModifiers(node) && (ts.getModifiers(node) ?? []).some((m) => m.kind === ts.SyntaxKind.ExportKeyword)
}

function isPublic(member: ts.ClassElement): boolean {
  const hidden = ts.canHaveModifiers(member)
    ? (ts.getModifiers(member) ?? []).some((m) => m.kind === ts.SyntaxKind.PrivateKeyword)
    : false
  return !hidden && !(member.name !== undefined && ts.isPrivateIdentifier(member.name))
}

function declaredName(statement: ts.Statement): string {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map((d) => d.name.getText()).join()
  if ('name' in statement && statement.name !== undefined) return (statement.name as ts.Node).getText()
  return ts.SyntaxKind[statement.kind]
}

function hasDoc(node: ts.Node): boolean {
  return ts.getJSDocCommentsAndTags(node).some((doc) => ts.isJSDoc(doc) && docText(doc) !== '')
}

function docText(doc: ts.JSDoc): string {
  const tags = (doc.tags ?? []).map((tag) => ts.getTextOfJSDocComment(tag.comment) ?? '').join(' ')
  return `${ts.getTextOfJSDocComment(doc.comment) ?? ''}${tags}`.trim()
}

function checkMembers(members: Iterable<ts.TypeElement | ts.ClassElement>, owner: string, report: Report): void {
  for (const member of members) {
    const name = `${owner}.${member.name?.getText() ?? 'constructor'}`
    if (explainsItself(member)) continue
    if (!hasDoc(member)) report(member, name)
    checkThrows(member, name, report)
    checkUnit(member, name, report)
    if (ts.isPropertySignature(member)) checkNested(member.type, name, report)
  }
}

/** So do a property whose only value is spelled in its type, and an index signature, which the comment on its owner describes. */
function explainsItself(member: ts.TypeElement | ts.ClassElement): boolean {
  if (ts.isIndexSignatureDeclaration(member)) return true
  return (
    ts.isPropertySignature(member) &&
    member.questionToken === undefined &&
    member.type !== undefined &&
    ts.isLiteralTypeNode(member.type)
  )
}

function checkNested(type: ts.TypeNode | undefined, owner: string, report: Report): void {
  if (type === undefined) return
  if (ts.isTypeLiteralNode(type)) checkMembers(type.members, owner, report)
  if (ts.isTypeOperatorNode(type)) checkNested(type.type, owner, report)
  if (ts.isArrayTypeNode(type)) checkNested(type.elementType, owner, report)
  if (ts.isParenthesizedTypeNode(type)) checkNested(type.type, owner, report)
}

function checkAlias(alias: ts.TypeAliasDeclaration, name: string, report: Report): void {
  const variants = ts.isUnionTypeNode(alias.type) ? alias.type.types : []
  for (const variant of variants) {
    if (!ts.isTypeLiteralNode(variant) || variant.members.every(explainsItself)) continue
    // The parser attaches no comment to a variant of a union, so the text before it is read.
    const before = alias.getSourceFile().text.slice(0, variant.getStart()).trimEnd().replace(/\|$/, '').trimEnd()
    if (!before.endsWith('*/')) report(variant, `${name} variant`)
  }
}

const durationName = /(timeout|interval|window|lifetime|period|delay|age)/i
const unitInName = /(Ms|Seconds)$/
const unitInText = /\b(milliseconds?|seconds?)\b/i

function checkUnit(member: ts.Node, name: string, report: Report): void {
  if (!ts.isPropertySignature(member) || member.type?.kind !== ts.SyntaxKind.NumberKeyword) return
  const text = ts.getJSDocCommentsAndTags(member).map((doc) => (ts.isJSDoc(doc) ? docText(doc) : ''))
  const measuresTime = durationName.test(member.name.getText()) || unitInName.test(member.name.getText())
  if (measuresTime && !unitInText.test(text.join(' '))) report(member, `${name} lacks a unit`)
  if (measuresTime && !unitInName.test(member.name.getText())) report(member, `${name} lacks a unit in its name`)
}

function checkThrows(node: ts.Node, name: string, report: Report): void {
  const body = ts.isFunctionLike(node) && 'body' in node ? node.body : undefined
  if (body === undefined || !throwsItself(body)) return
  if (!ts.getJSDocTags(node).some((tag) => tag.tagName.text === 'throws')) report(node, `${name} lacks @throws`)
}

function throwsItself(node: ts.Node): boolean {
  if (ts.isThrowStatement(node)) return true
  if (ts.isFunctionLike(node)) return false
  return ts.forEachChild(node, (child) => throwsItself(child) || undefined) ?? false
}
