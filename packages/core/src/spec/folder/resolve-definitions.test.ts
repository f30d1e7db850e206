import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { ObjectDecoder } from '../object-decoder.js'
import type { ObjectKey } from '../objects.js'
import { readDocuments } from './read-documents.js'
import { resolveDefinitions, type FileContent, type HeldObject, type Resolution } from './resolve-definitions.js'

const decoder = new ObjectDecoder()
const names = ['a', 'b', 'c'] as const

/** A document as a user may leave it. */
type Doc =
  | { readonly state: 'good'; readonly name: string; readonly weight: number }
  | { readonly state: 'invalid'; readonly name: string }
  | { readonly state: 'malformed'; readonly name: string }
  | { readonly state: 'wrong kind'; readonly name: string }
  | { readonly state: 'rubbish' }

const good = fc.record({ state: fc.constant('good' as const), name: fc.constantFrom(...names), weight: fc.nat(3) })
const broken: fc.Arbitrary<Doc> = fc.oneof(
  fc.record({
    state: fc.constantFrom('invalid' as const, 'malformed' as const, 'wrong kind' as const),
    name: fc.constantFrom(...names),
  }),
  fc.constant({ state: 'rubbish' as const }),
)
const files = ['x.yaml', 'y.yaml', 'z.yaml'] as const
/** Documents by file. */
type Folder = Partial<Record<(typeof files)[number], readonly Doc[]>>
const folderOf = (doc: fc.Arbitrary<Doc>): fc.Arbitrary<Folder> =>
  fc.record(
    {
      'x.yaml': fc.array(doc, { maxLength: 3 }),
      'y.yaml': fc.array(doc, { maxLength: 3 }),
      'z.yaml': fc.array(doc, { maxLength: 3 }),
    },
    { requiredKeys: [] },
  )

function textOf(doc: Doc): string {
  if (doc.state === 'rubbish') return 'just some words\n'
  const head = `apiVersion: split.smi-spec.io/v1alpha4\nkind: TrafficSplit\nmetadata: { name: ${doc.name} }\n`
  switch (doc.state) {
    case 'good':
      return `${head}spec: { service: s, backends: [{ service: b, weight: ${doc.weight} }] }\n`
    case 'invalid':
      return `${head}spec: { service: s, backends: [{ service: b, weight: lots }] }\n`
    case 'malformed':
      return `${head}spec: { service: "s }\n`
    case 'wrong kind':
      return `${head.replace('TrafficSplit', 'TrafficSplitt')}spec: { service: s }\n`
  }
}

function contents(folder: Folder): readonly FileContent[] {
  return files.flatMap((file) => {
    const docs = folder[file]
    if (docs === undefined) return []
    const text = docs.map(textOf).join('---\n')
    return [{ file, fading: false, definitions: readDocuments(text, decoder, { file, defaultNamespace: 'default' }) }]
  })
}

function load(folder: Folder, before: ReadonlyMap<ObjectKey, HeldObject> = new Map()): Resolution {
  return resolveDefinitions(contents(folder), before)
}

/** What is in force: weight and place by key. */
function state({ held }: Resolution): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    [...held].map(
      ([key, { object, definition, file }]) =>
        [key, { spec: object.spec, file, origin: definition.locate([]) }] as const,
    ),
  )
}

describe('resolveDefinitions', () => {
  it('forgets the past as soon as nothing is broken: any edits lead to what a fresh load finds', () => {
    fc.assert(
      fc.property(fc.array(folderOf(fc.oneof(good, broken)), { maxLength: 6 }), folderOf(good), (edits, last) => {
        let held: ReadonlyMap<ObjectKey, HeldObject> = new Map()
        for (const folder of edits) held = load(folder, held).held
        const edited = load(last, held)
        const fresh = load(last)
        expect(state(edited)).toEqual(state(fresh))
        expect(edited.problems).toEqual(fresh.problems)
      }),
      { numRuns: 300 },
    )
  })

  it('never loses an object because its definition broke', () => {
    fc.assert(
      fc.property(folderOf(good), fc.array(folderOf(fc.oneof(good, broken)), { maxLength: 5 }), (first, edits) => {
        let before = load(first)
        for (const folder of edits) {
          const after = load(folder, before.held)
          const heldFrom = new Map([...before.held.values()].map(({ object, file }) => [object.metadata.name, file]))
          for (const [key, { file, object }] of before.held) {
            const { name } = object.metadata
            // The name in a malformed document may be cut off; it is trusted if the file held such an object.
            const mayMean = (doc: Doc): boolean =>
              doc.state === 'rubbish' ||
              doc.name === name ||
              (doc.state === 'malformed' && heldFrom.get(doc.name) !== file)
            const docs = files.flatMap((it) => (it === file ? (folder[it] ?? []) : []))
            if (docs.some((doc) => doc.state !== 'good' && mayMean(doc))) expect(after.held.has(key)).toBe(true)
          }
          before = after
        }
      }),
      { numRuns: 300 },
    )
  })

  it('takes the first good definition in order of file and line, on a fresh load', () => {
    fc.assert(
      fc.property(folderOf(fc.oneof(good, broken)), (folder) => {
        const { held } = load(folder)
        for (const name of names) {
          const first = files
            .flatMap((file) => folder[file] ?? [])
            .find((doc) => doc.state === 'good' && doc.name === name)
          const object = held.get(`TrafficSplit/default/${name}` as ObjectKey)?.object
          const weight = object?.kind === 'TrafficSplit' ? object.spec.backends[0]?.weight : undefined
          expect(weight).toBe(first?.state === 'good' ? first.weight : undefined)
        }
      }),
    )
  })

  it('lets the last good version stay when the definition that held breaks, whatever a second one says', () => {
    const first = load({
      'x.yaml': [{ state: 'good', name: 'a', weight: 1 }],
      'y.yaml': [{ state: 'good', name: 'a', weight: 2 }],
    })
    const after = load(
      { 'x.yaml': [{ state: 'invalid', name: 'a' }], 'y.yaml': [{ state: 'good', name: 'a', weight: 2 }] },
      first.held,
    )
    expect(state(after)).toMatchObject({
      'TrafficSplit/default/a': { spec: { backends: [{ weight: 1 }] }, file: 'x.yaml' },
    })
    expect(after.problems.map(({ message }) => message)).toEqual([
      'must be an integer, not "lots"; the last good version stays in force',
      'is also defined at x.yaml:1, which takes precedence; remove one of the two',
    ])
  })

  it('lets the last good version of a Plugin stay when its script breaks, and takes the next good one', () => {
    const plugin = (script: string): readonly FileContent[] => {
      const text = `apiVersion: plugin.flomesh.io/v1alpha1\nkind: Plugin\nmetadata: { name: p }\nspec: { pipyscript: ${JSON.stringify(script)} }\n`
      const definitions = readDocuments(text, decoder, { file: 'x.yaml', defaultNamespace: 'default' })
      return [{ file: 'x.yaml', definitions, fading: false }]
    }
    const scriptOf = ({ held }: Resolution): unknown => [...held.values()].map(({ object }) => object.spec)
    const first = resolveDefinitions(plugin('export var a = 1'), new Map())
    const broken = resolveDefinitions(plugin('export var a = ;'), first.held)
    expect(scriptOf(broken)).toEqual([{ pipyscript: 'export var a = 1' }])
    expect(broken.problems).toMatchObject([
      {
        code: 'OSM_SPEC_SCRIPT',
        message: 'is not a JavaScript module: Unexpected token (1:15); the last good version stays in force',
        field: 'spec.pipyscript',
        origin: { line: 4 },
      },
    ])
    const mended = resolveDefinitions(plugin('export var a = 2'), broken.held)
    expect([scriptOf(mended), mended.problems]).toEqual([[{ pipyscript: 'export var a = 2' }], []])
    // Where there is no other version, the validator tells of it.
    expect(scriptOf(resolveDefinitions(plugin('export var a = ;'), new Map()))).toEqual([
      { pipyscript: 'export var a = ;' },
    ])
  })

  it('says that an object is left out, or where the version that holds is', () => {
    const { problems } = load({
      'x.yaml': [
        { state: 'invalid', name: 'a' },
        { state: 'invalid', name: 'b' },
      ],
      'y.yaml': [{ state: 'good', name: 'b', weight: 2 }],
    })
    expect(problems.map(({ message }) => message)).toEqual([
      'must be an integer, not "lots"; the object is left out',
      'must be an integer, not "lots"; the version at y.yaml:1 applies',
      'is also defined at y.yaml:1, which takes precedence; remove one of the two',
    ])
  })

  it('keeps objects of a fading file where nothing else defines them, and without a word about duplicates', () => {
    const first = load({
      'x.yaml': [
        { state: 'good', name: 'a', weight: 1 },
        { state: 'good', name: 'b', weight: 1 },
      ],
    })
    const [fading] = contents({
      'x.yaml': [
        { state: 'good', name: 'a', weight: 1 },
        { state: 'good', name: 'b', weight: 1 },
      ],
    })
    const [moved] = contents({ 'y.yaml': [{ state: 'good', name: 'b', weight: 1 }] })
    if (fading === undefined || moved === undefined) throw new Error('two files')
    const after = resolveDefinitions([{ ...fading, fading: true }, moved], first.held)
    expect(state(after)).toMatchObject({
      'TrafficSplit/default/a': { file: 'x.yaml' },
      'TrafficSplit/default/b': { file: 'y.yaml' },
    })
    expect(after.problems).toEqual([])
  })
})
