import { readFileSync, readdirSync } from 'node:fs'

import { parseAllDocuments } from 'yaml'

/** An object as somebody wrote it. */
export interface WrittenObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly annotations?: { readonly field?: string } }
  readonly spec?: unknown
  readonly status?: Readonly<Record<string, unknown>>
}

const testdata = new URL('../../src/spec/testdata/', import.meta.url)
const meshes = [
  new URL('../../../../examples/', import.meta.url),
  new URL('../../src/catalog/testdata/in/', import.meta.url),
]

/**
 * Objects of all kinds that people may write: those that are stored and used, those that are stored and reported because OSM stored them,
 * and those that are refused.
 */
export function storedObjects(outcome: 'accepted' | 'reported' | 'refused'): readonly WrittenObject[] {
  return read(new URL(`stored/${outcome}.yaml`, testdata))
}

/** An object of each kind with every field that the kind has. */
export function fullObjects(): readonly WrittenObject[] {
  return read(new URL('examples.yaml', testdata))
}

/** The objects of the examples, and of the meshes by which the catalog is tested. */
export function exampleObjects(): readonly WrittenObject[] {
  return meshes.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.yaml') && !file.includes('node_modules'))
      .flatMap((file) => read(new URL(file, folder))),
  )
}

/** For names of tests. */
export function titled(objects: readonly WrittenObject[]): readonly (readonly [string, WrittenObject])[] {
  return objects.map((object) => [`${object.kind} ${object.metadata.name} (${object.apiVersion})`, object])
}

/** The field that an object of the last two lists is wrong in. */
export function faultyField({ metadata }: WrittenObject): string {
  return metadata.annotations?.field ?? 'metadata.annotations.field'
}

/** As kubectl reads them, by YAML 1.1. What they are is checked by the schemas that they are held against. */
function read(url: URL): readonly WrittenObject[] {
  return parseAllDocuments(readFileSync(url, 'utf8'), { version: '1.1' }).map(
    (document) => document.toJS() as WrittenObject,
  )
}
