import { readFile } from 'node:fs/promises'

import type { ObjectOrigin } from '../../problem.js'
import { type FieldPath, parseFieldPath } from '../field-path.js'
import { isPlainObject } from '../shape.js'
import { ParsedDocument } from './document.js'
import { listFiles } from './list-files.js'
import { itemsOf, originOf } from './read-documents.js'
import { splitDocuments } from './split-documents.js'

/** An object as it is written, of whatever kind. */
export interface WrittenValue {
  readonly value: Readonly<Record<string, unknown>>
  /** Where its kind is written. */
  readonly ofKind: ObjectOrigin
  /** Where a field is written, such as `spec.template.spec`; its nearest ancestor where it is not. */
  readonly locate: (field: string) => ObjectOrigin
}

/**
 * Reads objects of a file, or of all files below a folder, as they are written: nothing is checked. Documents that are not YAML are left out, and so are
 * files that cannot be read: who reads the objects of the mesh reports them.
 *
 * @param mayMatter - false for texts of documents that need not be parsed
 */
export async function readWrittenValues(
  path: string,
  isFolder: boolean,
  mayMatter: (text: string) => boolean,
): Promise<readonly WrittenValue[]> {
  const files = isFolder ? [...(await listFiles(path)).files.keys()] : [path]
  const found: WrittenValue[] = []
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch(() => '')
    // Not as arguments of one call: a file may have more objects than a call may have arguments.
    for (const written of writtenValuesOf(text, file, mayMatter)) found.push(written)
  }
  return found
}

/**
 * The same for a text.
 *
 * @param file - stands for it in places
 */
export function writtenValuesOf(
  text: string,
  file: string,
  mayMatter: (text: string) => boolean,
): readonly WrittenValue[] {
  const found: WrittenValue[] = []
  for (const source of splitDocuments(text.startsWith('\uFEFF') ? text.slice(1) : text)) {
    if (!mayMatter(source.text)) continue
    const document = new ParsedDocument(source)
    if (document.faults.length > 0) continue
    for (const { value, base } of itemsOf(document.value)) {
      const locate = (path: FieldPath): ObjectOrigin => originOf(file, document.locate([...base, ...path]))
      if (isPlainObject(value))
        found.push({ value, ofKind: locate(['kind']), locate: (field) => locate(parseFieldPath(field)) })
    }
    document.forget()
  }
  return found
}
