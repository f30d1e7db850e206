import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type Document,
  type Node,
  type YAMLParseError,
} from 'yaml'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { FieldPath } from '../field-path.js'
import type { DocumentText } from './split-documents.js'
import type { Place, SyntaxFault, SyntaxTree } from './syntax-tree.js'

/** The syntax tree of any document, by the library. */
export class YamlTree implements SyntaxTree {
  readonly #lines = new LineCounter()
  readonly #document: Document.Parsed | undefined
  readonly #failure: string | undefined
  readonly #firstLine: number

  constructor(source: DocumentText) {
    this.#firstLine = source.line
    try {
      this.#document = parseDocument(source.text, {
        lineCounter: this.#lines,
        prettyErrors: false,
        logLevel: 'silent',
        merge: true,
        stringKeys: true,
        // The library compares each key with all before it: a minute for some ten thousand. They are compared below.
        uniqueKeys: false,
      })
    } catch (error) {
      // The reader recurses: nesting without end exhausts the stack.
      this.#failure = error instanceof RangeError ? 'is nested too deeply' : errorMessage(error)
    }
  }

  read(): { readonly value: unknown; readonly faults: readonly SyntaxFault[] } {
    const document = this.#document
    if (document === undefined) return { value: undefined, faults: [this.#fault(this.#failure ?? 'cannot be read', 0)] }
    const found = [
      ...document.errors.map((error) => ({ message: firstLine(error.message), offset: this.#startOfFault(error) })),
      ...repeatedKeys(document).map((offset) => ({ message: 'Map keys must be unique', offset })),
    ]
    const faults = found
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ message, offset }) => this.#fault(message, offset))
    try {
      // The library writes such a key as text, with all keys in it, once for each level: 400 levels take half a minute. It is a fault anyway.
      if (hasKeyWithParts(document)) return { value: undefined, faults }
      // Aliases multiply: a hundred uses are plenty for people, and harmless.
      return { value: document.toJS({ maxAliasCount: 100 }) as unknown, faults }
    } catch (error) {
      const reason = error instanceof RangeError ? 'is nested too deeply' : errorMessage(error)
      return { value: undefined, faults: faults.length > 0 ? faults : [this.#fault(reason, 0)] }
    }
  }

  locate(path: FieldPath): Place {
    let node: unknown = this.#document?.contents
    let offset = startOf(node) ?? 0
    for (const segment of path) {
      const step = this.#step(node, segment)
      if (step === undefined) break
      offset = step.offset ?? offset
      node = step.node
    }
    return this.#place(offset)
  }

  sourceText(path: FieldPath): string | undefined {
    let node: unknown = this.#document?.contents
    for (const segment of path) node = this.#step(node, segment)?.node
    const scalar = this.#resolve(node)
    return isScalar(scalar) && scalar.type === 'PLAIN' ? scalar.source : undefined
  }

  #step(
    parent: unknown,
    segment: string | number,
  ): { readonly node: unknown; readonly offset: number | undefined } | undefined {
    const node = this.#resolve(parent)
    if (isSeq(node) && typeof segment === 'number') {
      const item = node.items[segment]
      return item === undefined ? undefined : { node: item, offset: startOf(item) }
    }
    if (!isMap(node)) return undefined
    const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(segment))
    return pair === undefined ? undefined : { node: pair.value, offset: startOf(pair.key) }
  }

  #resolve(node: unknown): unknown {
    return isAlias(node) && this.#document !== undefined ? node.resolve(this.#document) : node
  }

  /** An open quote is noticed at the end of the text; people look for its beginning. */
  #startOfFault({ code, pos: [offset] }: Pick<YAMLParseError, 'code' | 'pos'>): number {
    let start = offset
    if (code === 'MISSING_CHAR')
      visit(this.#document ?? null, {
        Scalar: (_key, { type, range }) => {
          const quoted = type === 'QUOTE_DOUBLE' || type === 'QUOTE_SINGLE'
          if (quoted && range && range[0] < offset && offset <= range[2]) start = range[0]
        },
      })
    return start
  }

  #fault(message: string, offset: number): SyntaxFault {
    return { message, place: this.#place(offset) }
  }

  #place(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset)
    return { line: this.#firstLine + Math.max(line, 1) - 1, column: Math.max(col, 1) }
  }
}

/** Offsets of keys that their mapping has already. None where the tree is too deep to walk: reading it then fails. */
function repeatedKeys(document: Document.Parsed): readonly number[] {
  const repeated: number[] = []
  try {
    visit(document, {
      Map: (_key, { items }) => {
        const seen = new Set<unknown>()
        for (const { key } of items) {
          if (!isScalar(key)) continue
          if (seen.has(key.value)) repeated.push(startOf(key) ?? 0)
          seen.add(key.value)
        }
      },
    })
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  return repeated
}

/** True if a key of a mapping is a mapping or a list. */
function hasKeyWithParts(document: Document.Parsed): boolean {
  if (document.errors.length === 0) return false
  let found = false
  visit(document, {
    Pair: (_key, { key }) => {
      found = isMap(key) || isSeq(key) || isAlias(key)
      return found ? visit.BREAK : undefined
    },
  })
  return found
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0]
}

function firstLine(text: string): string {
  const end = text.indexOf('\n')
  return end === -1 ? text : text.slice(0, end)
}
