import type { FieldPath } from '../field-path.js'

/** A place in a file, both counted from 1. */
export interface Place {
  readonly line: number
  readonly column: number
}

/** Where the parts of a document are written down, and how. */
export interface SyntaxTree {
  /** Where the value at the path is written down: the nearest ancestor's place if it isn't written. */
  locate(path: FieldPath): Place
  /** The text of an unquoted scalar. */
  sourceText(path: FieldPath): string | undefined
}

/** A document that could not be read as YAML or JSON. */
export interface SyntaxFault {
  readonly message: string
  readonly place: Place
}
