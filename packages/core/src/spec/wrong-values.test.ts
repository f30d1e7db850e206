import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'
import type { TSchema } from '@sinclair/typebox'

import { examplesByKind } from '../../test/spec/examples.js'
import { resolveMeshConfig } from '../config/index.js'
import type { Problem } from '../problem.js'
import { SnapshotBuilder } from '../snapshot/index.js'
import { formatFieldPath, type FieldPath } from './field-path.js'
import { ObjectDecoder } from './object-decoder.js'
import { objectRef, type MeshObject } from './objects.js'
import { consentNeeded } from './reference-grant.js'
import { allKinds, kindDefinitions, type Kind } from './schema/kinds.js'
import { SpecRules } from './validation.js'

const testdata = (name: string): string => readFileSync(new URL(`./testdata/${name}`, import.meta.url), 'utf8')
/** One object of each kind, with every field that there is. */
const examples: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ...[...examplesByKind()].map(([kind, { object }]) => [kind, object] as const),
  ['WorkloadInstance', JSON.parse(testdata('instance.json'))],
])

const origin = { kind: 'file', file: 'a.yaml', line: 1, column: 1 } as const
const context = { origin, defaultNamespace: 'default', locate: () => origin, sourceText: () => undefined }
const rules = new SpecRules({
  clusterDomain: 'cluster.local',
  trustDomain: 'cluster.local',
  osmNamespace: 'osm-system',
  crossNamespace: () => consentNeeded,
  gatewayNames: () => ['gateway.example.com'],
})
const decoders = { user: new ObjectDecoder('user'), runtime: new ObjectDecoder('runtime') }

/** A place in a spec, and a value that is invalid there. `undefined`: nothing may not. */
interface WrongValue {
  readonly path: FieldPath
  readonly value: unknown
}

/** Everything wrong that a schema lets one think of: another type, out of range, empty, missing. */
function wrongValues(schema: TSchema, value: unknown, path: FieldPath, required: boolean): readonly WrongValue[] {
  if (value === undefined) return []
  const here = wrongFor(schema).map((wrong) => ({ path, value: wrong }))
  const hasDefault = schema.default !== undefined
  const missing = required && !hasDefault && path.length > 1 ? [{ path, value: undefined }] : []
  return [...here, ...missing, ...wrongMembers(schema, value, path)]
}

function wrongMembers(schema: TSchema, value: unknown, path: FieldPath): readonly WrongValue[] {
  if (schema.type === 'array') {
    const items = value as readonly unknown[]
    return items.flatMap((item, index) => wrongValues(schema.items as TSchema, item, [...path, index], false))
  }
  const properties = (schema.properties ?? {}) as Readonly<Record<string, TSchema>>
  const required = (schema.required ?? []) as readonly string[]
  return Object.entries(properties).flatMap(([name, member]) =>
    wrongValues(member, (value as Readonly<Record<string, unknown>>)[name], [...path, name], required.includes(name)),
  )
}

function wrongFor(schema: TSchema): readonly unknown[] {
  const { minimum, maximum, minLength, minItems } = schema
  const below = minimum === undefined ? [] : [Number(minimum) - 1]
  const above = maximum === undefined ? [] : [Number(maximum) + 1]
  switch (schema.type) {
    case 'string':
      if (schema.enum !== undefined) return ['no-such-word', {}, []]
      return [{}, [], ...(minLength === undefined ? [] : [''])]
    case 'integer':
      return ['ten', {}, [], true, 0.5, ...below, ...above]
    case 'number':
      return ['ten', {}, [], true, ...below, ...above]
    case 'boolean':
      return ['perhaps', 2, {}, []]
    case 'array':
      return ['text', 1, ...(minItems === undefined ? [] : [[]])]
    case 'object':
      return ['text', 1, []]
    default:
      // A port by number or by name.
      return [{}, [], 0, 65_536]
  }
}

function withValue(root: unknown, [step, ...rest]: FieldPath, value: unknown): unknown {
  if (step === undefined) return value
  if (Array.isArray(root))
    return (root as readonly unknown[]).map((item, index) => (index === step ? withValue(item, rest, value) : item))
  const { [step]: member, ...others } = root as Readonly<Record<string, unknown>>
  const next = withValue(member, rest, value)
  return next === undefined ? others : { ...others, [step]: next }
}

/** Fields of durations in an example. They are texts to the schema, and read where they are used. */
function durations(schema: TSchema, value: unknown, path: FieldPath): readonly FieldPath[] {
  if (value === undefined) return []
  if (schema.type === 'array')
    return (value as readonly unknown[]).flatMap((item, index) =>
      durations(schema.items as TSchema, item, [...path, index]),
    )
  if (schema.type === 'string' && schema.description?.includes('A Go duration') === true) return [path]
  const properties = Object.entries((schema.properties ?? {}) as Readonly<Record<string, TSchema>>)
  return properties.flatMap(([name, member]) =>
    durations(member, (value as Readonly<Record<string, unknown>>)[name], [...path, name]),
  )
}

/** Problems with what an object says, seen by itself. */
function problemsOf(object: MeshObject): readonly Problem[] {
  if (object.kind === 'MeshConfig') {
    const options = { osmNamespace: 'osm-system', clusterDomain: 'cluster.local', environment: {} }
    return resolveMeshConfig(object.spec, options, { object: objectRef(object), locate: () => undefined }).problems
  }
  const builder = new SnapshotBuilder(['test'])
  return rules.checkAll(builder.apply([{ source: 'test', upserts: [object], deletes: [] }]).snapshot)
}

describe('a wrong value in a spec', () => {
  it.each(allKinds())('is told by object and field, wherever it stands in %s', (kind: Kind) => {
    const definition = kindDefinitions[kind]
    const example = examples.get(kind) as { readonly metadata: { readonly name: string }; readonly spec?: unknown }
    const wrong = wrongValues(definition.spec, example.spec, ['spec'], false)
    const untold = wrong.filter(({ path, value }) => {
      const { object, problems } = decoders[definition.writtenBy].decode(withValue(example, path, value), context)
      const field = formatFieldPath(path)
      const told = problems.some(
        (problem) =>
          problem.severity === 'error' &&
          problem.field === field &&
          problem.object?.kind === kind &&
          problem.object.name === example.metadata.name &&
          problem.message !== '',
      )
      return object !== undefined || !told
    })
    expect(untold).toEqual([])
    // Kinds without fields have none that could be wrong.
    expect(wrong.length > 0).toBe(example.spec !== undefined)
  })

  const withDurations = allKinds().flatMap((kind) =>
    durations(kindDefinitions[kind].spec, (examples.get(kind) as { readonly spec?: unknown }).spec, ['spec']).map(
      (path) => ({ kind, path, field: formatFieldPath(path) }),
    ),
  )
  it.each(withDurations)('is told if it is a duration that no one can read: $kind $field', ({ kind, path, field }) => {
    const { object, problems } = decoders.user.decode(withValue(examples.get(kind), path, 'soon'), context)
    if (object === undefined) throw new Error(JSON.stringify(problems))
    expect(problemsOf(object)).toContainEqual(
      expect.objectContaining({
        field,
        object: expect.objectContaining({ kind }),
        message: expect.stringMatching(/./),
      }),
    )
  })
})
