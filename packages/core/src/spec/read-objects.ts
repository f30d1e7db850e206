import type { ObjectOrigin, Problem } from '../problem.js'
import { parseFieldPath } from './field-path.js'
import { readDocuments } from './folder/read-documents.js'
import { ObjectDecoder } from './object-decoder.js'
import type { MeshObject, ObjectKey } from './objects.js'

/** How a text is read. */
export interface ReadObjectsOptions {
  /** Name that origins and problems carry. */
  readonly file?: string
  readonly defaultNamespace?: string
  readonly writtenBy?: 'user' | 'runtime'
  /** Reads this text and others after it: schemas are compiled once for each decoder. Replaces `writtenBy`. */
  readonly decoder?: ObjectDecoder
}

/** Reads the objects of one YAML or JSON text, without a folder and without a memory of earlier versions. */
export function readObjects(
  text: string,
  options: ReadObjectsOptions = {},
): {
  readonly objects: readonly MeshObject[]
  readonly problems: readonly Problem[]
  /** Where an object, or a field of it, is written down; undefined if the text does not hold it. */
  readonly locate: (key: ObjectKey, field?: string) => ObjectOrigin | undefined
} {
  const definitions = readDocuments(text, options.decoder ?? new ObjectDecoder(options.writtenBy), {
    file: options.file ?? '-',
    defaultNamespace: options.defaultNamespace ?? 'default',
  })
  return {
    objects: definitions.flatMap(({ object }) => object ?? []),
    problems: definitions.flatMap(({ problems }) => problems),
    locate: (key, field) =>
      definitions
        .find((definition) => definition.key === key)
        ?.locate(field === undefined ? [] : parseFieldPath(field)),
  }
}
