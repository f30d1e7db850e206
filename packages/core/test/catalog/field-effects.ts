import type { TSchema } from '@sinclair/typebox'

import { ObjectDecoder } from '../../src/spec/object-decoder.js'
import type { Kind } from '../../src/spec/schema/kinds.js'
import { kindDefinitions, writtenKind } from '../../src/spec/schema/kinds.js'
import type { MeshObject } from '../../src/spec/index.js'
import type { MeshFixture } from './mesh-fixture.js'

/** A field of a kind: `spec.ports[].name`, with `{}` for the values of a map. */
export interface Field {
  readonly kind: Kind
  readonly path: string
  readonly steps: readonly string[]
  readonly schema: TSchema
}

const ITEM = '[]'
const VALUE = '{}'

/** Every field of a kind that holds a value itself. */
export function fieldsOf(kind: Kind): readonly Field[] {
  return leaves(kindDefinitions[kind].spec, []).map(({ steps, schema }) => ({
    kind,
    steps,
    schema,
    path: steps.reduce((path, step) => (step === ITEM || step === VALUE ? path + step : `${path}.${step}`), 'spec'),
  }))
}

function leaves(
  schema: TSchema,
  steps: readonly string[],
): readonly { readonly steps: readonly string[]; readonly schema: TSchema }[] {
  const { properties, items, additionalProperties } = schema as {
    readonly properties?: Readonly<Record<string, TSchema>>
    readonly items?: TSchema
    readonly additionalProperties?: TSchema
  }
  if (properties !== undefined)
    return Object.entries(properties).flatMap(([name, inner]) => leaves(inner, [...steps, name]))
  if (items !== undefined) return leaves(items, [...steps, ITEM])
  if (typeof additionalProperties === 'object') return leaves(additionalProperties, [...steps, VALUE])
  return [{ steps, schema }]
}

/** Of one field in one object: the last ones mean what the first ones do. */
const MAX_PLACES = 6

type Holder = Record<string, unknown>

/** Objects that differ from the given one in the value of a field alone. */
export function* variants(object: MeshObject, { steps, schema }: Field): Generator<MeshObject> {
  for (const place of places(object.spec, steps).slice(0, MAX_PLACES)) {
    const before = valueAt(object.spec, place)
    for (const value of otherValues(schema, before)) {
      const spec = structuredClone(object.spec) as Holder
      setAt(spec, place, value)
      const decoded = decode({ ...object, spec })
      if (decoded !== undefined) yield decoded
    }
  }
}

const decoders = { user: new ObjectDecoder('user'), runtime: new ObjectDecoder('runtime') }

/** The object as it is read; undefined if it is refused. */
function decode({ apiVersion, kind, metadata, spec, origin }: Omit<MeshObject, 'spec'> & { readonly spec: unknown }) {
  const { object, problems } = decoders[kindDefinitions[kind].writtenBy].decode(
    { apiVersion, kind: writtenKind(kind), metadata, spec },
    { origin, defaultNamespace: '', locate: () => origin, sourceText: () => undefined },
  )
  return problems.some(({ severity }) => severity === 'error') ? undefined : object
}

/** Where in a value a field is, or could be. */
function places(value: unknown, steps: readonly string[]): readonly (readonly (string | number)[])[] {
  const [step, ...rest] = steps
  if (step === undefined) return [[]]
  if (step === ITEM) {
    const items = Array.isArray(value) ? value : []
    const found = items.flatMap((item, index) => places(item, rest).map((place) => [index, ...place]))
    // One more item of a list of plain values.
    return rest.length === 0 ? [...found, [items.length]] : found
  }
  const holder: Holder = isHolder(value) ? value : {}
  const names = step === VALUE ? [...Object.keys(holder), ...(rest.length === 0 ? ['other'] : [])] : [step]
  return names.flatMap((name) => places(holder[name], rest).map((place) => [name, ...place]))
}

function valueAt(value: unknown, place: readonly (string | number)[]): unknown {
  return place.reduce<unknown>(
    (held, step) => (typeof held === 'object' && held !== null ? Reflect.get(held, step) : undefined),
    value,
  )
}

function setAt(spec: Holder, place: readonly (string | number)[], value: unknown): void {
  const last = place.at(-1)
  if (last === undefined) return
  let held: object = spec
  for (const [index, step] of place.slice(0, -1).entries()) {
    let next: unknown = Reflect.get(held, step)
    if (typeof next !== 'object' || next === null) {
      next = typeof place[index + 1] === 'number' ? [] : {}
      Reflect.set(held, step, next)
    }
    held = next as object
  }
  if (value === undefined) Reflect.deleteProperty(held, last)
  else Reflect.set(held, last, value)
}

function isHolder(value: unknown): value is Holder {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Values of the same type that mean something else, the likely ones first. */
function otherValues(schema: TSchema, before: unknown): readonly unknown[] {
  const { type, enum: words } = schema as { readonly type?: string; readonly enum?: readonly unknown[] }
  const values = (): readonly unknown[] => {
    if (words !== undefined) return words
    switch (type) {
      case 'boolean':
        return [before !== true, before === true]
      case 'integer':
      case 'number':
        return [...(typeof before === 'number' ? [before + 1, before / 2] : []), 7, 1, 0, 8080].filter(
          (value) => type === 'number' || Number.isInteger(value),
        )
      case 'string':
        return [...(typeof before === 'string' ? [`${before}x`, otherText(before)] : []), ...TEXTS]
      default:
        return [{ other: 'value' }, 7, 'http']
    }
  }
  return values().filter((value) => value !== before)
}

const TEXTS = [
  'other',
  '17s',
  '0.25',
  '10.99.0.0/16',
  '10.99.0.1',
  'http',
  'GET',
  'ClientIP',
  'PreferClose',
  'None',
  '/other',
  'other.example.com',
  '%REQ(:METHOD)%',
  '2030-01-01T00:00:00Z',
]

/** A text of the same form. */
function otherText(text: string): string {
  return text.replace(/[0-9]/, (digit) => String((Number(digit) + 1) % 10)).replace(/^a|[b-y]/, 'z')
}

/** What a mesh does: changes where a policy of any proxy does. */
export function behaviourOf(fixture: MeshFixture): string {
  return JSON.stringify(
    [...fixture.documents()].map(([name, { proxy, parts }]) => [name, proxy, Object.keys(parts).sort()]),
  )
}
