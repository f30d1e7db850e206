import { atOnce, type Steps } from '../../async/index.js'
import type { ObjectOrigin, Problem } from '../../problem.js'
import type { SpecErrorCode } from '../error-codes.js'
import type { FieldPath } from '../field-path.js'
import type { ObjectDecoder } from '../object-decoder.js'
import type { MeshObject, ObjectKey } from '../objects.js'
import { isPlainObject } from '../shape.js'
import { ParsedDocument } from './document.js'
import { isOtherKind, readOtherObject, type OtherObject } from './other-object.js'
import { isSecretDocument, readSecretDocument, type WrittenSecret } from './secret-document.js'
import { splitDocuments } from './split-documents.js'
import type { Place } from './syntax-tree.js'

/** What one place of a file says about one object. */
export interface Definition {
  /** Undefined if it can't be told which object is meant. */
  readonly key: ObjectKey | undefined
  /** What was written as namespace and name, even if the kind is not known. */
  readonly named: { readonly namespace: string; readonly name: string } | undefined
  /** Undefined if the object can't be used. */
  readonly object: MeshObject | undefined
  /** True if the text is no well-formed YAML, so that even the key may be half-written. */
  readonly malformed: boolean
  readonly problems: readonly Problem[]
  /** Present: it is not an object of the mesh but a Secret that objects may name. */
  readonly secret?: WrittenSecret
  /** Present: it is of a kind that the mesh does not read itself. */
  readonly other?: OtherObject
  /** Where a field is written down. */
  locate(path: FieldPath): ObjectOrigin
}

/** How a text is read. */
export interface ReadOptions {
  /** Name of the file, for origins. */
  readonly file: string
  readonly defaultNamespace: string
  /** Mode of the file; undefined for what is not a file. */
  readonly mode?: number
  /** True: objects of kinds in groups of others are held, not reported. */
  readonly holdsOtherKinds?: boolean
}

/** Members that SMI objects had at the top before they had a `spec`, by the name they have now. */
const formerNames: Readonly<Record<string, readonly string[]>> = { rules: ['specs'] }

/** Reads all objects of a text, in order. Lists as `kubectl get` prints them count as their items. */
export function readDocuments(text: string, decoder: ObjectDecoder, options: ReadOptions): readonly Definition[] {
  return atOnce(readDocumentsInSteps(text, decoder, options))
}

/** The same, a document or an object of a list in each step. */
export function* readDocumentsInSteps(
  text: string,
  decoder: ObjectDecoder,
  options: ReadOptions,
): Steps<readonly Definition[]> {
  const definitions: Definition[] = []
  for (const source of splitDocuments(text.startsWith('\uFEFF') ? text.slice(1) : text)) {
    const document = new ParsedDocument(source)
    yield
    try {
      if (document.faults.length > 0) definitions.push(malformed(document, decoder, options))
      // The others are documents of nothing but comments and markers.
      else if (document.value !== null && document.value !== undefined)
        for (const { value, base } of itemsOf(document.value)) {
          definitions.push(define(document, value, base, decoder, options))
          yield
        }
    } finally {
      document.forget()
    }
  }
  return definitions
}

function define(
  document: ParsedDocument,
  value: unknown,
  base: FieldPath,
  decoder: ObjectDecoder,
  options: ReadOptions,
): Definition {
  if (isSecretDocument(value)) {
    // Copies the place, so that the text can be released.
    const origin = originOf(options.file, document.locate(base))
    const secret = readSecretDocument(value, { ...options, origin })
    return {
      key: undefined,
      named: undefined,
      object: undefined,
      malformed: false,
      problems: [],
      secret,
      locate: () => origin,
    }
  }
  if (options.holdsOtherKinds === true && isOtherKind(value)) {
    const origin = originOf(options.file, document.locate(base))
    const { other, problems } = readOtherObject(value, { ...options, origin })
    return {
      key: undefined,
      named: undefined,
      object: undefined,
      malformed: false,
      problems,
      other,
      locate: () => origin,
    }
  }
  const locate = (path: FieldPath): ObjectOrigin => originOf(options.file, locateField(document, base, value, path))
  const { key, named, object, problems } = decoder.decode(value, {
    origin: locate([]),
    defaultNamespace: options.defaultNamespace,
    locate,
    sourceText: (path) => document.sourceText([...base, ...path]),
  })
  return { key, named, object, malformed: false, problems, locate }
}

function malformed(document: ParsedDocument, decoder: ObjectDecoder, options: ReadOptions): Definition {
  const code: SpecErrorCode = 'OSM_SPEC_SYNTAX'
  // The rest of a broken document often still tells which object it was to be.
  const { key } = decoder.decode(document.value, {
    origin: originOf(options.file, document.locate([])),
    defaultNamespace: options.defaultNamespace,
    locate: () => originOf(options.file, document.locate([])),
    sourceText: () => undefined,
  })
  return {
    key,
    named: undefined,
    object: undefined,
    malformed: true,
    problems: document.faults.slice(0, 3).map(({ message, place }) => ({
      code,
      severity: 'error',
      message: `not well-formed: ${message}`,
      origin: originOf(options.file, place),
    })),
    locate: (path) => originOf(options.file, document.locate(path)),
  }
}

/** The objects of a document: those of a list, else itself. */
export function itemsOf(value: unknown): readonly { readonly value: unknown; readonly base: FieldPath }[] {
  const isList =
    isPlainObject(value) && value.kind === 'List' && value.apiVersion === 'v1' && Array.isArray(value.items)
  if (!isList) return [{ value, base: [] }]
  return (value.items as readonly unknown[]).map((item, index) => ({ value: item, base: ['items', index] }))
}

function locateField(document: ParsedDocument, base: FieldPath, value: unknown, path: FieldPath): Place {
  const [top, member, ...rest] = path
  const flat = top === 'spec' && typeof member === 'string' && isPlainObject(value) && !Object.hasOwn(value, 'spec')
  if (!flat) return document.locate([...base, ...path])
  const written = [member, ...(formerNames[member] ?? [])].find((name) => Object.hasOwn(value, name)) ?? member
  return document.locate([...base, written, ...rest])
}

/** A place of a file. */
export function originOf(file: string, place: Place): ObjectOrigin {
  return { kind: 'file', file, line: place.line, column: place.column }
}
