import { Type, type Static, type TObject, type TProperties, type TSchema, type TUnsafe } from '@sinclair/typebox'

/** An object that may hold the given properties and no others. */
export function closed<T extends TProperties>(properties: T): TObject<T> {
  return Type.Object(properties, { additionalProperties: false })
}

/** A list whose static type is read-only, as everywhere in the contract. */
export function list<T extends TSchema>(items: T, minItems = 0): TUnsafe<readonly Static<T>[]> {
  return Type.Unsafe<readonly Static<T>[]>(minItems === 0 ? Type.Array(items) : Type.Array(items, { minItems }))
}

/** One of the given values. */
export function oneOf<const T extends readonly (string | number | boolean)[]>(...values: T): TUnsafe<T[number]> {
  return Type.Unsafe<T[number]>(Type.Union(values.map((value) => Type.Literal(value))))
}

/** A string with its own static type. */
export function branded<T extends string>(pattern: string): TUnsafe<T> {
  return Type.Unsafe<T>(Type.String({ pattern }))
}

/** An object with any names and the given values, read-only. */
export function dictionary<T extends TSchema>(values: T): TUnsafe<Readonly<Record<string, Static<T>>>> {
  return Type.Unsafe<Readonly<Record<string, Static<T>>>>(Type.Record(Type.String(), values))
}
