import { MAX_PLUGIN_BYTES } from '@osm-ts/driver-api/policy'
import { type AnyNode, parse, type Program } from 'acorn'

/** Steps that loading a script may take: calls of functions, and turns of loops. */
const LOAD_STEPS = 20_000

/** A script that can go to a sidecar, or why not. */
export type GuardedScript = { readonly text: string } | { readonly fault: string }

/**
 * What of JavaScript Pipy reads. It knows neither `while` nor `let`; and `import` would let a script change that of the sidecar.
 */
const understood: ReadonlySet<string> = new Set<AnyNode['type']>([
  'Program',
  'ExportNamedDeclaration',
  'FunctionDeclaration',
  'ArrowFunctionExpression',
  'VariableDeclaration',
  'VariableDeclarator',
  'Identifier',
  'Literal',
  'TemplateLiteral',
  'TemplateElement',
  'ObjectExpression',
  'Property',
  'ArrayExpression',
  'SpreadElement',
  'BlockStatement',
  'ExpressionStatement',
  'EmptyStatement',
  'IfStatement',
  'SwitchStatement',
  'SwitchCase',
  'ForStatement',
  'BreakStatement',
  'ReturnStatement',
  'ThrowStatement',
  'TryStatement',
  'CatchClause',
  'CallExpression',
  'ChainExpression',
  'MemberExpression',
  'NewExpression',
  'UnaryExpression',
  'UpdateExpression',
  'BinaryExpression',
  'LogicalExpression',
  'ConditionalExpression',
  'AssignmentExpression',
  'SequenceExpression',
])

interface Insertion {
  readonly at: number
  readonly text: string
}

/**
 * Makes of a user's script one that cannot run forever: each call of its functions and each turn of its loops takes a step, and a script without steps
 * left throws. Anyone who calls it says by `__osmBudget` how many it has. The script is read and not run; line numbers stay.
 */
export function guardedScript(script: string): GuardedScript {
  const bytes = Buffer.byteLength(script)
  if (bytes > MAX_PLUGIN_BYTES) return { fault: `has ${bytes} bytes; at most ${MAX_PLUGIN_BYTES} go out` }
  let program: Program
  try {
    program = parse(script, { ecmaVersion: 2022, sourceType: 'module', locations: true })
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return { fault: `is not a script: ${error.message}` }
  }
  const insertions: Insertion[] = []
  for (const node of nodesOf(program)) {
    const fault = faultOf(node)
    if (fault !== undefined) return { fault: `line ${node.loc?.start.line ?? 1}: ${fault}` }
    insertions.push(...guardsOf(node))
  }
  return { text: `${prelude()}${inserted(script, insertions)}` }
}

/** A node and all below it, in no particular order. Not recursive: scripts nest as deep as they like. */
function* nodesOf(program: Program): Generator<AnyNode> {
  const waiting: unknown[] = [program]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next !== 'object' || next === null) continue
    if (isNode(next)) yield next
    // One by one: lists of statements may be longer than a call has arguments.
    for (const value of Object.values(next) as unknown[]) waiting.push(value)
  }
}

function isNode(value: object): value is AnyNode {
  return 'type' in value && typeof value.type === 'string' && 'start' in value
}

function faultOf(node: AnyNode): string | undefined {
  if (!understood.has(node.type)) return `Pipy does not read ${node.type}`
  switch (node.type) {
    case 'VariableDeclaration':
      return node.kind === 'var' ? undefined : `Pipy knows no ${node.kind}; use var`
    case 'ArrowFunctionExpression':
    case 'FunctionDeclaration':
      return node.async || node.generator ? 'Pipy knows no async functions and no generators' : undefined
    case 'ExportNamedDeclaration':
      return node.source === null || node.source === undefined ? undefined : 'scripts import nothing'
    case 'ForStatement':
      return node.init && node.test && node.update ? undefined : 'Pipy reads loops with all three parts only'
    case 'Property':
      return node.kind === 'init' && !node.method ? undefined : 'Pipy knows no methods and no accessors in objects'
    case 'Literal':
      return node.regex === undefined && node.bigint === undefined
        ? undefined
        : 'Pipy knows no such literals; for regular expressions use new RegExp'
    case 'Identifier':
      if (node.name.startsWith('__osm')) return 'names that begin with __osm are taken'
      // By it a script could load another one, or end the sidecar.
      if (node.name === 'pipy') return 'pipy is not for scripts'
      return node.name.startsWith('$') ? 'names that begin with $ are variables of Pipy' : undefined
    default:
      return undefined
  }
}

function guardsOf(node: AnyNode): readonly Insertion[] {
  switch (node.type) {
    case 'ForStatement':
    case 'FunctionDeclaration':
      return guardedBlock(node.body)
    case 'ArrowFunctionExpression':
      return node.body.type === 'BlockStatement' ? guardedBlock(node.body) : around(node.body, '(__osmStep(), (', '))')
    default:
      return []
  }
}

function guardedBlock(body: AnyNode): readonly Insertion[] {
  return body.type === 'BlockStatement'
    ? [{ at: body.start + 1, text: ' __osmStep();' }]
    : around(body, '{ __osmStep(); ', ' }')
}

function around({ start, end }: AnyNode, before: string, after: string): readonly Insertion[] {
  return [
    { at: start, text: before },
    { at: end, text: after },
  ]
}

/** Of two at one place, what closes comes before what opens: nothing ends where something longer begins. */
function inserted(script: string, insertions: readonly Insertion[]): string {
  const closes = ({ text }: Insertion): number => (/^[ )]*[)}]/.test(text) ? 0 : 1)
  const sorted = [...insertions].sort((a, b) => a.at - b.at || closes(a) - closes(b))
  let text = ''
  let done = 0
  for (const insertion of sorted) {
    text += script.slice(done, insertion.at) + insertion.text
    done = insertion.at
  }
  return text + script.slice(done)
}

/** On the first line of the script, so that lines keep their numbers. */
function prelude(): string {
  return [
    `var __osmLeft = ${LOAD_STEPS};`,
    'export function __osmBudget(steps) { __osmLeft = steps };',
    "function __osmStep() { __osmLeft = __osmLeft - 1; if (__osmLeft < 0) throw new Error('takes too many steps') };",
    '',
  ].join(' ')
}
