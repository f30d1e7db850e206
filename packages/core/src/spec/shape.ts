import { dictionary } from '@osm-ts/driver-api/toolkit'
import type { TSchema } from '@sinclair/typebox'

import type { FieldPath } from './field-path.js'

/** What the shaping of a value reports and asks. */
export interface ShapeContext {
  /** Called for a member that the schema doesn't know. The member is dropped. */
  unknownMember(path: FieldPath, known: readonly string[]): void
  /**
   * The text that a scalar was written with, if it was unquoted: `1.10` and `off` mean more than the number and the
   * boolean read from them.
   */
  sourceText(path: FieldPath): string | undefined
}

/** Thrown by {@link shape} for values that are too deep or too large, which only aliases or malice make. */
export class OversizeError extends Error {}

const maxDepth = 64
/** Values of one object: scalars, lists and objects. */
const maxObjectValues = 25_000
/** Items of one list. */
const maxListItems = 10_000

/**
 * JSON schema keywords that shaping follows. TypeBox types its schemas by what they validate; shaping walks what they
 * say.
 */
interface SchemaNode {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly anyOf?: readonly SchemaNode[]
  readonly items?: SchemaNode
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: SchemaNode
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
}

/**
 * Copies a value in the form that its schema describes: unknown members are dropped, nulls count as absent, and scalars
 * that YAML reads as another type than meant are turned back (`off`, `1.10`, `"8080"`). What can't be turned stays as
 * it is, for the check that follows.
 */
export function shape(schema: TSchema, value: unknown, path: FieldPath, context: ShapeContext): unknown {
  return new Shaper(context).shape(schema as SchemaNode, value, [...path])
}

class Shaper {
  readonly #context: ShapeContext
  #nodes = 0

  constructor(context: ShapeContext) {
    this.#context = context
  }

  shape(schema: SchemaNode, value: unknown, path: (string | number)[]): unknown {
    this.#nodes += 1
    if (this.#nodes > maxObjectValues)
      throw new OversizeError(`has more than ${maxObjectValues} values; divide the object`)
    if (path.length > maxDepth) throw new OversizeError(`is nested deeper than ${maxDepth} levels`)
    if (Array.isArray(value) && value.length > maxListItems)
      throw new OversizeError(
        `has a list of ${value.length} items; at most ${maxListItems} are taken: divide the object`,
      )
    if (schema['x-kubernetes-preserve-unknown-fields'] === true) return this.#free(value, path)
    if (schema.anyOf !== undefined) return numeric(value) ?? value
    switch (schema.type) {
      case 'object':
        return isPlainObject(value) ? this.#object(schema, value, path) : value
      case 'array':
        return Array.isArray(value)
          ? value.map((item, index) => this.#at(schema.items ?? {}, item, path, index))
          : value
      case 'string':
        return this.#text(schema, value, path)
      case 'integer':
      case 'number':
        return numeric(value) ?? value
      case 'boolean':
        return truth(value) ?? value
      default:
        return value
    }
  }

  #at(schema: SchemaNode, value: unknown, path: (string | number)[], segment: string | number): unknown {
    path.push(segment)
    const shaped = this.shape(schema, value, path)
    path.pop()
    return shaped
  }

  #object(schema: SchemaNode, value: Readonly<Record<string, unknown>>, path: (string | number)[]): unknown {
    const known = schema.properties ?? {}
    const shaped: [string, unknown][] = []
    for (const [name, member] of Object.entries(value)) {
      const memberSchema = Object.hasOwn(known, name) ? known[name] : schema.additionalProperties
      if (memberSchema === undefined) this.#context.unknownMember([...path, name], Object.keys(known))
      else if (member !== null && member !== undefined) shaped.push([name, this.#at(memberSchema, member, path, name)])
    }
    return schema.additionalProperties === undefined ? Object.fromEntries(shaped) : dictionary(shaped)
  }

  #free(value: unknown, path: (string | number)[]): unknown {
    if (value === null || typeof value !== 'object') return value
    if (Array.isArray(value)) return value.map((item, index) => this.#at(freeNode, item, path, index))
    const copy: [string, unknown][] = []
    for (const [name, member] of Object.entries(value))
      if (member !== undefined) copy.push([name, this.#at(freeNode, member, path, name)])
    return dictionary(copy)
  }

  #text(schema: SchemaNode, value: unknown, path: (string | number)[]): unknown {
    // Where a list of words has off or on, every word that YAML 1.1 takes for truth may have been meant as one of them.
    const meant = truth(value) === undefined ? undefined : truth(value) ? 'on' : 'off'
    if (meant !== undefined && schema.enum?.includes(meant) === true) return meant
    if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
      return this.#context.sourceText(path) ?? String(value)
    return value
  }
}

const freeNode: SchemaNode = { 'x-kubernetes-preserve-unknown-fields': true }

/** True for objects made by a parser, as opposed to arrays, dates and class instances. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function numeric(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^[+-]?\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : undefined
}

function truth(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value
  if (typeof value !== 'string') return undefined
  // The words of YAML 1.1, by which kubectl reads.
  switch (value.toLowerCase()) {
    case 'true':
    case 'yes':
    case 'y':
    case 'on':
      return true
    case 'false':
    case 'no':
    case 'n':
    case 'off':
      return false
    default:
      return undefined
  }
}
