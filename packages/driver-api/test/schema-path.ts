import type { TSchema } from '@sinclair/typebox'

/** True if a path such as `inbound.rules.allow[].match` leads somewhere: first the name of a schema, then members; `[]` enters a list. */
export function schemaHasPath(schemas: Readonly<Record<string, TSchema>>, path: string): boolean {
  const [name = '', ...steps] = path.replaceAll('[]', '.[]').split('.')
  const schema = schemas[name]
  return schema !== undefined && leads(schema, steps)
}

function leads(schema: TSchema, [step, ...rest]: readonly string[]): boolean {
  if (step === undefined) return true
  const variants = schema.anyOf as readonly TSchema[] | undefined
  if (variants !== undefined) return variants.some((variant) => leads(variant, [step, ...rest]))
  const properties = schema.properties as Readonly<Record<string, TSchema>> | undefined
  const next = step === '[]' ? (schema.items as TSchema | undefined) : properties?.[step]
  return next !== undefined && leads(next, rest)
}
