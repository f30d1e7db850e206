import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { root } from './paths.mjs'

/** Members that the runtime calls by name. */
const calledByRuntime = new Set(['toString', 'toJSON'])

/** Members that only tests use, with what they let a test see or do that nothing else does. */
const seenByTests = {
  'Broker.subscribers': 'that a subscription has ended',
  'ConnectionGuard.sizeOf': 'in which stage connections are',
  'ConnectionPool.sizeOf': 'how many members have a key',
  'RepoServer.replaceCodebase': 'that workers take up other scripts, which come with another version of the driver',
  'Translator.remembered': 'that translations are forgotten',
}

/** Their users are tests. */
const testingPackages = ['driver-testkit', 'endpoints-testkit', 'oracle']

/** @typedef {{ readonly path: string, readonly text: string }} Source */
/** @typedef {{ readonly name: string, readonly path: string, readonly line: number }} Member name is `Class.member` */

/** @returns {string[]} public members of classes that nothing outside tests uses */
export function checkUnusedMembers() {
  return findUnusedMembers(productSources(), seenByTests)
}

/**
 * Public members of classes whose name is read nowhere: not as a property, not by destructuring, not as a text.
 *
 * Names are compared, not types, so that sources need only be parsed: a member that has the name of another one which is used goes unseen. Classes that
 * extend or implement something of another project are left out, because that project calls their members.
 * @param {readonly Source[]} sources
 * @param {Readonly<Record<string, string>>} allowed
 * @returns {string[]}
 */
export function findUnusedMembers(sources, allowed) {
  /** @type {Member[]} */
  const members = []
  /** @type {Set<string>} */
  const used = new Set(calledByRuntime)
  for (const { path, text } of sources) {
    const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
    const foreign = foreignNames(file)
    const visit = (/** @type {ts.Node} */ node) => {
      if (ts.isClassLike(node) && !isForeign(node, foreign)) members.push(...publicMembers(node, file))
      const name = nameRead(node)
      if (name !== undefined) used.add(name)
      ts.forEachChild(node, visit)
    }
    visit(file)
  }
  const unused = members.filter(({ name }) => !used.has(name.slice(name.indexOf('.') + 1)))
  const names = new Set(unused.map(({ name }) => name))
  return [
    ...unused
      .filter(({ name }) => !Object.hasOwn(allowed, name))
      .filter(({ path }) => !testingPackages.some((each) => path.startsWith(`packages/${each}/`)))
      .map(({ name, path, line }) => `${path}:${line}: nothing outside tests uses ${name}`),
    ...Object.keys(allowed)
      .filter((name) => !names.has(name))
      .map((name) => `tools/lib/unused-members.mjs: ${name} is used, or gone; remove it from the list`),
  ]
}

/**
 * Names that a file imports from other projects, and its names for types of these.
 * @param {ts.SourceFile} file
 * @returns {ReadonlySet<string>}
 */
function foreignNames(file) {
  /** @type {Set<string>} */
  const names = new Set()
  for (const statement of file.statements) {
    if (ts.isTypeAliasDeclaration(statement) && mentions(statement.type, names)) names.add(statement.name.text)
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) continue
    if (/^(\.|@osm-ts\/)/.test(statement.moduleSpecifier.text)) continue
    const { name, namedBindings } = statement.importClause ?? {}
    if (name !== undefined) names.add(name.text)
    if (namedBindings !== undefined && ts.isNamedImports(namedBindings))
      for (const element of namedBindings.elements) names.add(element.name.text)
    else if (namedBindings !== undefined) names.add(namedBindings.name.text)
  }
  return names
}

/**
 * @param {ts.Node} node
 * @param {ReadonlySet<string>} names
 * @returns {boolean}
 */
function mentions(node, names) {
  if (ts.isIdentifier(node)) return names.has(node.text)
  return ts.forEachChild(node, (child) => mentions(child, names) || undefined) ?? false
}

/**
 * @param {ts.ClassLikeDeclaration} declaration
 * @param {ReadonlySet<string>} foreign
 */
function isForeign({ heritageClauses = /** @type {any} */ ([]) }, foreign) {
  return [...heritageClauses].some(({ types }) =>
    types.some((/** @type {ts.ExpressionWithTypeArguments} */ { expression }) => {
      const first = ts.isPropertyAccessExpression(expression) ? expression.expression : expression
      return ts.isIdentifier(first) && foreign.has(first.text)
    }),
  )
}

/**
 * @param {ts.ClassLikeDeclaration} declaration
 * @param {ts.SourceFile} file
 * @returns {Member[]}
 */
function publicMembers(declaration, file) {
  const className = declaration.name?.text ?? 'a class'
  return declaration.members.flatMap((member) => {
    const isMember =
      ts.isMethodDeclaration(member) ||
      ts.isPropertyDeclaration(member) ||
      ts.isGetAccessorDeclaration(member) ||
      ts.isSetAccessorDeclaration(member)
    if (!isMember || !ts.isIdentifier(member.name)) return []
    const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected
    if ((ts.getCombinedModifierFlags(member) & hidden) !== 0) return []
    const line = file.getLineAndCharacterOfPosition(member.name.getStart(file)).line + 1
    return [{ name: `${className}.${member.name.text}`, path: file.fileName, line }]
  })
}

/**
 * The name of a member that a node reads.
 * @param {ts.Node} node
 * @returns {string | undefined}
 */
function nameRead(node) {
  if (ts.isPropertyAccessExpression(node)) return node.name.text
  if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent)) {
    const name = node.propertyName ?? node.name
    return ts.isIdentifier(name) ? name.text : undefined
  }
  // `object['name']`, `'name' in object`, and keys of types such as Pick.
  return ts.isStringLiteralLike(node) ? node.text : undefined
}

/**
 * Sources of packages without tests.
 * @returns {Source[]}
 */
function productSources() {
  return readdirSync(join(root, 'packages')).flatMap((name) => {
    const folder = `packages/${name}/src`
    if (!existsSync(join(root, folder))) return []
    return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.endsWith('.d.ts'))
      .map((file) => ({ path: `${folder}/${file}`, text: readFileSync(join(root, folder, file), 'utf8') }))
  })
}
