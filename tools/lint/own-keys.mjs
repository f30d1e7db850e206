/**
 * Keeps keys that a user writes away from what objects inherit. Looks at syntax alone:
 *
 * - `key in object` with a key that is no literal also finds `constructor`
 * - an object literal that is declared as a dictionary takes an assignment to `__proto__` for its prototype
 * - `labels[key]` without a look at own members also gives what the object inherits
 */

/**
 * A node of the tree of typescript-eslint, which has members that ESLint's own types lack.
 * @typedef {{ readonly type: string, readonly [member: string]: any }} Node
 * @typedef {Parameters<import('eslint').SourceCode['getScope']>[0]} Syntax
 */

/** Members and variables that hold what users write, whatever their type is called. */
const USER_KEYED = new Set(['annotations', 'headers', 'labels', 'matchLabels', 'nodeSelector', 'selector'])

/** @type {import('eslint').Rule.RuleModule} */
const ownKeys = {
  meta: {
    type: 'problem',
    docs: { description: 'look up keys of users among own members' },
    schema: [],
    messages: {
      in: '`in` also finds inherited members such as `constructor`: write Object.hasOwn(object, key).',
      accumulator: 'A key `__proto__` would set the prototype: collect in a Map, or make it by dictionary().',
      lookup: '`{{name}}` has keys of users and inherits members: write ownValue({{name}}, key).',
    },
  },
  create(context) {
    const { sourceCode } = context
    return {
      BinaryExpression(node) {
        if (node.operator === 'in' && node.left.type !== 'Literal' && node.left.type !== 'PrivateIdentifier')
          context.report({ node, messageId: 'in' })
      },
      VariableDeclarator(node) {
        if (isEmptyObject(node.init) && isDictionaryType(annotationOf(node.id)))
          context.report({ node, messageId: 'accumulator' })
      },
      MemberExpression(node) {
        if (!node.computed || isFixed(node.property, sourceCode)) return
        const name = nameOf(node.object)
        if (name === undefined || !USER_KEYED.has(name)) return
        if (isLiteralList(node.object) || isGuarded(node, sourceCode)) return
        context.report({ node, messageId: 'lookup', data: { name: sourceCode.getText(node.object) } })
      },
    }
  },
}

/** The plugin by which ESLint knows the rule. */
export const ownKeysPlugin = { rules: { 'own-keys': ownKeys } }

/** @param {Node | null | undefined} node */
function isEmptyObject(node) {
  const value = node?.type === 'TSAsExpression' ? node.expression : node
  return value?.type === 'ObjectExpression' && value.properties.length === 0
}

/**
 * @param {Node} id
 * @returns {Node | undefined}
 */
function annotationOf(id) {
  return id.typeAnnotation?.typeAnnotation
}

/**
 * True for `Record<string, …>`, and for a type with an index signature. Into what is read-only nothing is collected.
 * @param {Node | undefined} type
 * @returns {boolean}
 */
function isDictionaryType(type) {
  if (type?.type === 'TSTypeLiteral')
    return type.members.some((/** @type {Node} */ member) => member.type === 'TSIndexSignature')
  if (type?.type !== 'TSTypeReference') return false
  const [first] = type.typeArguments?.params ?? []
  if (type.typeName.name === 'Record') return first?.type === 'TSStringKeyword'
  return type.typeName.name === 'Partial' && isDictionaryType(first)
}

/**
 * Indexes of lists, and names that the code itself gives: literals, and imports and constants of the module with their members.
 * @param {Node} property
 * @param {import('eslint').SourceCode} sourceCode
 * @returns {boolean}
 */
function isFixed(property, sourceCode) {
  if (property.type === 'Literal' || property.type === 'TemplateLiteral') return true
  if (property.type === 'MemberExpression' && !property.computed) return isFixed(property.object, sourceCode)
  if (property.type !== 'Identifier') return false
  if (/^(index|i|at|position)$/.test(property.name)) return true
  /** @type {import('eslint').Scope.Scope | null} */
  let scope = sourceCode.getScope(/** @type {Syntax} */ (property))
  while (scope !== null && !scope.set.has(property.name)) scope = scope.upper
  const [definition] = scope?.set.get(property.name)?.defs ?? []
  return definition?.type === 'ImportBinding' || (definition?.type === 'Variable' && scope?.type === 'module')
}

/** @param {Node} object */
function isLiteralList(object) {
  return object.type === 'ArrayExpression'
}

/**
 * @param {Node} object
 * @returns {string | undefined}
 */
function nameOf(object) {
  if (object.type === 'Identifier') return object.name
  if (object.type === 'MemberExpression' && !object.computed)
    return object.property.type === 'Identifier' ? object.property.name : undefined
  return object.type === 'TSNonNullExpression' ? nameOf(object.expression) : undefined
}

/**
 * True where the same statement asks Object.hasOwn about the same object and key.
 * @param {Syntax & Record<'object' | 'property', Syntax>} node
 * @param {import('eslint').SourceCode} sourceCode
 */
function isGuarded(node, sourceCode) {
  const question = `Object.hasOwn(${sourceCode.getText(node.object)}, ${sourceCode.getText(node.property)})`
  /** @type {Node} */
  let around = node
  while (around.parent && !/Statement$|Declaration$|^PropertyDefinition$/.test(around.type)) around = around.parent
  return sourceCode.getText(/** @type {Syntax} */ (around)).includes(question)
}
