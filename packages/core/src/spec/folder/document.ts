import type { FieldPath } from '../field-path.js'
import { readPlainDocument } from './plain-document.js'
import type { DocumentText } from './split-documents.js'
import type { Place, SyntaxFault, SyntaxTree } from './syntax-tree.js'
import { YamlTree } from './yaml-tree.js'

/** A document of a file, read. Positions are found by reading its text again, so that nothing but the text is kept. */
export class ParsedDocument implements SyntaxTree {
  /** The value, also of a faulty document as far as it could be told; undefined if it could not. */
  readonly value: unknown
  readonly faults: readonly SyntaxFault[]
  readonly #source: DocumentText
  #tree: SyntaxTree | undefined
  /** Problems are few and requested in bursts: the tree may stay while memory allows. */
  #recent: WeakRef<SyntaxTree> | undefined

  constructor(source: DocumentText) {
    this.#source = source
    const json = parseJson(source.text)
    if (json !== undefined) {
      this.value = json.value
      this.faults = []
      return
    }
    const plain = readPlainDocument(source)
    if (plain !== undefined) {
      this.value = plain.value
      this.faults = []
      this.#tree = plain
      return
    }
    const tree = new YamlTree(source)
    const { value, faults } = tree.read()
    this.value = value
    this.faults = faults
    // Decoding requests places and texts right away; forget() drops the tree afterwards.
    this.#tree = tree
  }

  locate(path: FieldPath): Place {
    return this.#parsed().locate(path)
  }

  sourceText(path: FieldPath): string | undefined {
    return this.#parsed().sourceText(path)
  }

  /** Releases the syntax tree after decoding; it is parsed again when needed. */
  forget(): void {
    this.#tree = undefined
  }

  #parsed(): SyntaxTree {
    const known = this.#tree ?? this.#recent?.deref()
    if (known !== undefined) return known
    const tree = readPlainDocument(this.#source) ?? new YamlTree(this.#source)
    this.#recent = new WeakRef(tree)
    return tree
  }
}

/** JSON is read by the engine's own parser: an order of magnitude faster, and the state folder holds nothing else. */
function parseJson(text: string): { readonly value: unknown } | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    // Flow-style YAML, or a mistake that the YAML reader will describe with its place.
    return undefined
  }
}
