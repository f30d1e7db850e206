import { readFileSync } from 'node:fs'

import { parse } from 'yaml'

import { splitDocuments } from '../../src/spec/folder/split-documents.js'
import { kindWrittenAs, type Kind } from '../../src/spec/schema/kinds.js'

/** An object as users write it, and as it is parsed. */
export interface Example {
  readonly text: string
  readonly object: Readonly<Record<string, unknown>>
}

/** One object of each kind that users write, with every field that there is. */
export function examplesByKind(): ReadonlyMap<Kind, Example> {
  const url = new URL('../../src/spec/testdata/examples.yaml', import.meta.url)
  return new Map(
    splitDocuments(readFileSync(url, 'utf8')).map(({ text }) => {
      const object = parse(text) as Example['object']
      const kind = kindWrittenAs(String(object.kind), object.apiVersion)
      if (kind === undefined) throw new Error(`${String(object.kind)} is not a kind of the mesh`)
      return [kind, { text, object }]
    }),
  )
}
