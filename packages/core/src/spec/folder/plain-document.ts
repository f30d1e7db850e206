import type { FieldPath } from '../field-path.js'
import type { DocumentText } from './split-documents.js'
import type { Place, SyntaxTree } from './syntax-tree.js'

/** A value of a document, and where it is written down. */
interface PlainNode {
  readonly value: unknown
  readonly line: number
  readonly column: number
  /** The text of an unquoted scalar. */
  readonly source?: string
  readonly members?: ReadonlyMap<string, PlainMember>
  readonly items?: readonly PlainNode[]
}

interface PlainMember {
  readonly line: number
  readonly column: number
  readonly node: PlainNode
}

/** A line with content. */
interface Line {
  readonly number: number
  indent: number
  content: string
}

/** Thrown for a text that is not of the plain form; whether it is YAML is not known. */
class NotPlain extends Error {}

/** Deeper documents are left to the library, which says what is wrong with them. */
const MAX_DEPTH = 50
const MAX_KEY = 512
/** Far below the bound of uses that the library counts. */
const MAX_ALIASES = 20
const OTHER_CHARACTER = /[^\n\x20-\x7e]/
const KEY = /^([A-Za-z][\w./-]*):(?: +|$)/
const ANCHOR = /^&([A-Za-z0-9]+)$/
const ALIAS = /^\*([A-Za-z0-9]+)$/
const QUOTED = /^(?:"([^"\\]*)"|'([^']*)')$/
/** How a scalar may begin: neither an indicator of YAML, nor what becomes one by the character that follows. */
const PLAIN_START = /^(?:[\w/.^$(\\+~]|-[\w./])/
const INTEGER = /^(?:0|-?[1-9]\d{0,14})$/
/** Other numbers of the core schema of YAML 1.2. */
const NUMBER =
  /^(?:0o[0-7]+|0x[0-9a-fA-F]+|[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/
const WORDS: ReadonlyMap<string, boolean | null> = new Map([
  ...['true', 'True', 'TRUE'].map((word) => [word, true] as const),
  ...['false', 'False', 'FALSE'].map((word) => [word, false] as const),
  ...['null', 'Null', 'NULL', '~'].map((word) => [word, null] as const),
])

/**
 * Reads a document that is written as kubectl and most people do: mappings and sequences in block style, scalars of one line, ASCII alone. That takes a tenth of
 * the time of the library, which also keeps every comment and space.
 *
 * @returns undefined for any other text. What is read here, the library reads alike: a test compares values and places of random documents
 */
export function readPlainDocument({ text, line }: DocumentText): PlainDocument | undefined {
  if (OTHER_CHARACTER.test(text)) return undefined
  try {
    return new PlainDocument(new PlainReader(linesOf(text, line)).read())
  } catch (error) {
    if (error instanceof NotPlain) return undefined
    throw error
  }
}

/** A document of the plain form. */
class PlainDocument implements SyntaxTree {
  readonly #root: PlainNode

  constructor(root: PlainNode) {
    this.#root = root
  }

  get value(): unknown {
    return this.#root.value
  }

  locate(path: FieldPath): Place {
    let node = this.#root
    let { line, column } = node
    for (const segment of path) {
      const step = stepOf(node, segment)
      if (step === undefined) break
      ;({ node, line, column } = step)
    }
    return { line, column }
  }

  sourceText(path: FieldPath): string | undefined {
    let node: PlainNode | undefined = this.#root
    for (const segment of path) node = node && stepOf(node, segment)?.node
    return node?.source
  }
}

function stepOf(node: PlainNode, segment: string | number): PlainMember | undefined {
  if (node.members !== undefined) return node.members.get(String(segment))
  const item = typeof segment === 'number' ? node.items?.[segment] : undefined
  return item && { node: item, line: item.line, column: item.column }
}

function linesOf(text: string, first: number): Line[] {
  const lines: Line[] = []
  for (let start = 0, number = first; start < text.length; number += 1) {
    const lineEnd = text.indexOf('\n', start)
    const end = lineEnd === -1 ? text.length : lineEnd
    let content = start
    while (content < end && text[content] === ' ') content += 1
    if (content < end && text[content] !== '#')
      lines.push({ number, indent: content - start, content: text.slice(content, end).trimEnd() })
    start = end + 1
  }
  return lines
}

class PlainReader {
  readonly #lines: readonly Line[]
  readonly #anchors = new Map<string, PlainNode>()
  #next = 0
  #aliases = 0
  /** Anchored values that are being read. */
  #anchored = 0

  constructor(lines: readonly Line[]) {
    this.#lines = lines
  }

  read(): PlainNode {
    if (this.#lines[0]?.content === '---' && this.#lines[0].indent === 0) this.#next = 1
    const first = this.#lines[this.#next]
    if (first === undefined || first.indent !== 0 || isItem(first)) throw new NotPlain()
    const root = this.#map(first, 0)
    if (this.#next < this.#lines.length) throw new NotPlain()
    return root
  }

  #map({ indent, number }: Line, depth: number): PlainNode {
    if (depth > MAX_DEPTH) throw new NotPlain()
    const members = new Map<string, PlainMember>()
    for (;;) {
      const line = this.#lines[this.#next]
      if (line === undefined || line.indent < indent) break
      const [whole = '', key = ''] = KEY.exec(line.content) ?? []
      if (line.indent > indent || whole === '' || key.length > MAX_KEY || members.has(key)) throw new NotPlain()
      this.#next += 1
      const node = this.#member(line, line.content.slice(whole.length), whole.length, depth)
      members.set(key, { line: line.number, column: indent + 1, node })
    }
    const value = Object.fromEntries(Array.from(members, ([name, { node }]) => [name, node.value]))
    return { value, line: number, column: indent + 1, members }
  }

  #member(line: Line, written: string, width: number, depth: number): PlainNode {
    if (written === '') return this.#nested(line, depth) ?? { value: null, line: line.number, column: 1, source: '' }
    const [, anchor] = ANCHOR.exec(written) ?? []
    if (anchor === undefined) return this.#scalar(written, line.number, line.indent + width + 1)
    if (this.#anchors.has(anchor)) throw new NotPlain()
    this.#anchored += 1
    const node = this.#nested(line, depth)
    this.#anchored -= 1
    if (node === undefined) throw new NotPlain()
    this.#anchors.set(anchor, node)
    return node
  }

  /** The value on the lines below a key; undefined if there is none. */
  #nested({ indent }: Line, depth: number): PlainNode | undefined {
    const line = this.#lines[this.#next]
    if (line === undefined || line.indent < indent) return undefined
    // A sequence may be as far to the left as the key that it belongs to.
    if (isItem(line)) return this.#sequence(line, depth + 1)
    return line.indent > indent ? this.#map(line, depth + 1) : undefined
  }

  #sequence({ indent, number }: Line, depth: number): PlainNode {
    if (depth > MAX_DEPTH) throw new NotPlain()
    const items: PlainNode[] = []
    for (;;) {
      const line = this.#lines[this.#next]
      if (line === undefined || line.indent < indent || (line.indent === indent && !isItem(line))) break
      if (line.indent > indent) throw new NotPlain()
      items.push(this.#item(line, depth))
    }
    return { value: items.map(({ value }) => value), line: number, column: indent + 1, items }
  }

  #item(line: Line, depth: number): PlainNode {
    const written = line.content.slice(1).trimStart()
    const column = line.indent + line.content.length - written.length
    if (written === '' || isItem({ content: written })) throw new NotPlain()
    if (KEY.test(written)) {
      // What follows the dash is the first line of a mapping.
      line.indent = column
      line.content = written
      return this.#map(line, depth + 1)
    }
    this.#next += 1
    return this.#scalar(written, line.number, column + 1)
  }

  #scalar(written: string, line: number, column: number): PlainNode {
    const place = { line, column }
    const [quoted, double, single] = QUOTED.exec(written) ?? []
    if (quoted !== undefined) return { ...place, value: double ?? single }
    if (written === '[]') return { ...place, value: [], items: [] }
    if (written === '{}') return { ...place, value: {}, members: new Map() }
    const [, alias] = ALIAS.exec(written) ?? []
    if (alias !== undefined) return { ...this.#alias(alias), ...place }
    if (!PLAIN_START.test(written) || written.includes(': ') || written.endsWith(':') || written.includes(' #'))
      throw new NotPlain()
    return { ...place, value: plainValue(written), source: written }
  }

  /** Aliases in anchored values multiply, which the library bounds. */
  #alias(name: string): PlainNode {
    const node = this.#anchors.get(name)
    this.#aliases += 1
    if (node === undefined || this.#anchored > 0 || this.#aliases > MAX_ALIASES) throw new NotPlain()
    return node
  }
}

function isItem({ content }: Pick<Line, 'content'>): boolean {
  return content === '-' || content.startsWith('- ')
}

function plainValue(written: string): unknown {
  if (INTEGER.test(written)) return Number(written)
  if (NUMBER.test(written)) throw new NotPlain()
  const word = WORDS.get(written)
  return word === undefined ? written : word
}
