import type { Problem } from '../problem.js'
import { readDocuments } from './folder/read-documents.js'
import { ObjectDecoder } from './object-decoder.js'
import type { MeshObject } from './objects.js'

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
): { readonly objects: readonly MeshObject[]; readonly problems: readonly Problem[] } {
  const definitions = readDocuments(text, options.decoder ?? new ObjectDecoder(options.writtenBy), {
    file: options.file ?? '-',
    defaultNamespace: options.defaultNamespace ?? 'default',
  })
  return {
    objects: definitions.flatMap(({ object }) => object ?? []),
    problems: definitions.flatMap(({ problems }) => problems),
  }
}
