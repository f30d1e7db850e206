import type { JsonValue } from '@osm-ts/driver-api/policy'
import { Type, type Static, type TObject, type TProperties, type TSchema } from '@sinclair/typebox'

/**
 * What a schema describes, all the way down read-only: objects of the mesh specification are never changed after they
 * were read.
 */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T

/** The read-only TypeScript type of a schema. */
export type Spec<S extends TSchema> = DeepReadonly<Static<S>>

/** Keywords of Kubernetes' structural schemas that the schemas here carry for the CRDs made from them. */
export const kubernetesKeywords = ['x-kubernetes-int-or-string', 'x-kubernetes-preserve-unknown-fields'] as const

/**
 * One of a few words. `Type.Union` of literals would say the same with `anyOf` and `const`, which structural schemas
 * forbid.
 */
export function oneOf<const V extends readonly string[]>(
  values: V,
  description: string,
  extra: { default?: V[number] } = {},
) {
  return Type.Unsafe<V[number]>({ type: 'string', enum: [...values], description, ...extra })
}

/** Largest count: proxies hold them in 32 bits. */
export const maxCount = 4_294_967_295

/** A TCP or UDP port number. */
export function portNumber(description: string) {
  return Type.Integer({ minimum: 1, maximum: 65535, description })
}

/** A port given by number or by name. */
export function portOrName(description: string) {
  return Type.Unsafe<number | string>({
    'x-kubernetes-int-or-string': true,
    anyOf: [
      { type: 'integer', minimum: 1, maximum: 65535 },
      { type: 'string', minLength: 1, maxLength: 15 },
    ],
    description,
  })
}

/**
 * A duration as Go writes it, such as `24h` or `1m30s`. Parsed where it is used, so that a bad one degrades one setting
 * only.
 */
export function duration(description: string, extra: { default?: string } = {}) {
  return Type.String({ description: `${description} A Go duration such as 90s or 1h30m.`, ...extra })
}

/**
 * A map from free text to one kind of value. `Type.Record` would say it with `patternProperties`, which structural
 * schemas forbid.
 */
export function mapOf<S extends TSchema>(values: S, description: string, extra: { default?: object } = {}) {
  return Type.Unsafe<Record<string, Static<S>>>({ type: 'object', additionalProperties: values, description, ...extra })
}

/** Free text keyed by free text. */
export function textMap(description: string) {
  return mapOf(Type.String(), description)
}

/** An object whose members belong to somebody else: a driver, or a plugin. */
export function freeObject(description: string) {
  return Type.Unsafe<{ [key: string]: JsonValue }>({
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    description,
  })
}

/** An object with known members. Unknown ones are reported and dropped before the schema is applied. */
export function struct<P extends TProperties>(properties: P, description: string): TObject<P> {
  return Type.Object(properties, { description })
}

/** Names a Secret. */
export function secretRef(description: string) {
  return struct(
    {
      name: Type.String({ minLength: 1, description: 'Name of the Secret.' }),
      namespace: Type.String({ minLength: 1, description: 'Namespace of the Secret.' }),
    },
    description,
  )
}

/** The `matches` list that several policies share: objects that refine the policy. */
export function typedReferences(description: string) {
  return Type.Array(
    struct(
      {
        apiGroup: Type.String({
          description: 'API group and version of the object, such as specs.smi-spec.io/v1alpha4.',
        }),
        kind: Type.String({ description: 'Kind of the object.' }),
        name: Type.String({ description: 'Name of the object, in the namespace of this one.' }),
      },
      'An object that refines this one.',
    ),
    { description },
  )
}

/** A Kubernetes label selector. */
export function labelSelector(description: string) {
  return struct(
    {
      matchLabels: Type.Optional(textMap('Labels that must be present with exactly these values.')),
      matchExpressions: Type.Optional(
        Type.Array(
          struct(
            {
              key: Type.String({ description: 'Label key.' }),
              operator: oneOf(['In', 'NotIn', 'Exists', 'DoesNotExist'], 'Relation of key and values.'),
              values: Type.Optional(Type.Array(Type.String(), { description: 'Values for In and NotIn.' })),
            },
            'One requirement.',
          ),
          { description: 'Additional requirements; all must be met.' },
        ),
      ),
    },
    description,
  )
}
