import type { JsonValue } from '@osm-ts/driver-api/policy'
import type { TSchema } from '@sinclair/typebox'

type JsonType = 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'

/**
 * The part of OpenAPI v3 that Kubernetes calls structural, as far as the mesh uses it: every node has one type, or takes
 * anything, and nothing but `required` stands inside `oneOf`.
 */
export interface StructuralSchema {
  readonly type?: JsonType
  readonly format?: 'date-time' | 'int64'
  readonly description?: string
  readonly default?: JsonValue
  readonly enum?: readonly JsonValue[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: StructuralSchema
  readonly properties?: Readonly<Record<string, StructuralSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: StructuralSchema
  readonly oneOf?: readonly { readonly required: readonly string[] }[]
  readonly 'x-kubernetes-preserve-unknown-fields'?: true
  readonly 'x-kubernetes-list-type'?: 'map'
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
}

/** What API servers check of one field in place of what the mesh checks. */
export interface Adjustment {
  /** What the mesh checks and API servers do not. `required` lets the field be left out. */
  readonly without?: readonly ('enum' | 'maximum' | 'minimum' | 'required' | 'type')[]
  /** What API servers check or fill in besides. */
  readonly with?: StructuralSchema
}

/** Finds the adjustment of a field: `sources[].name` is the name of every source, `limits{}` every value of a map. */
export type Adjustments = (path: string) => Adjustment | undefined

/** Keywords of JSON schema that the schemas of the mesh are made of. TypeBox types its schemas by what they validate. */
interface MeshSchema {
  readonly type: JsonType
  readonly description?: string
  readonly default?: JsonValue
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: MeshSchema
  readonly properties?: Readonly<Record<string, MeshSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: MeshSchema
  readonly 'x-kubernetes-preserve-unknown-fields'?: true
}

/**
 * The form in which API servers check objects of a schema. It is looser than the schema: an empty text is stored, and
 * the mesh reports it, because objects that OSM took are to be stored whatever they are worth. Defaults of the schema
 * are applied when objects are read and are not written into objects; only those that OSM wrote are.
 */
export function toStructuralSchema(schema: TSchema, adjustments: Adjustments): StructuralSchema {
  // Every schema is an object of keywords; which ones is checked by the test that all CRDs are structural.
  return translate(schema as unknown as MeshSchema, '', adjustments)
}

function translate(schema: MeshSchema, path: string, adjustments: Adjustments): StructuralSchema {
  const { without = [], with: added = {} } = adjustments(path) ?? {}
  const kept: StructuralSchema = {
    ...pick(schema, ['type', 'description', 'enum', 'minimum', 'maximum', 'minItems', 'maxItems']),
    ...pick(schema, ['x-kubernetes-preserve-unknown-fields']),
    ...(schema.items === undefined ? {} : { items: translate(schema.items, `${path}[]`, adjustments) }),
    ...(schema.additionalProperties === undefined
      ? {}
      : { additionalProperties: translate(schema.additionalProperties, `${path}{}`, adjustments) }),
    ...translateMembers(schema, path, adjustments),
    ...(without.includes('enum') ? { description: describeWords(schema) } : {}),
  }
  return { ...(omit(kept, without) as StructuralSchema), ...added }
}

/** Words that are not checked are still to be read about. */
function describeWords({ description = '', enum: words = [] }: MeshSchema): string {
  return `${description} One of ${words.join(', ')}.`.trimStart()
}

function translateMembers(
  { properties = {}, required = [] }: MeshSchema,
  path: string,
  adjustments: Adjustments,
): StructuralSchema {
  const members = Object.entries(properties)
  if (members.length === 0) return {}
  const pathOf = (name: string): string => (path === '' ? name : `${path}.${name}`)
  // A member with a default is always there once the mesh has read the object, and may be left out before.
  const needed = members.flatMap(([name, { default: fallback }]) => {
    const demanded = required.includes(name) && fallback === undefined
    return demanded && adjustments(pathOf(name))?.without?.includes('required') !== true ? [name] : []
  })
  return {
    ...(needed.length === 0 ? {} : { required: needed }),
    properties: Object.fromEntries(
      members.map(([name, member]) => [name, translate(member, pathOf(name), adjustments)]),
    ),
  }
}

function pick<T extends object, K extends keyof T>(object: T, names: readonly K[]): Pick<T, K> {
  const chosen = names.filter((name) => object[name] !== undefined).map((name) => [name, object[name]])
  return Object.fromEntries(chosen) as Pick<T, K>
}

function omit(object: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}
