import { errorMessage } from '@osm-ts/driver-api/toolkit'
import type { JsonObject } from '@osm-ts/endpoints-api'
import { Ajv2020 } from 'ajv/dist/2020.js'

/** Finds what in a value does not conform to a schema, each with its field. `root` is the name of the value, such as `settings`. */
export type SchemaCheck = (value: unknown, root: string) => readonly string[]

/** The check of a JSON Schema of a plug-in. Of a schema that is invalid every value is told so. */
export function compileSchema(schema: JsonObject): SchemaCheck {
  let validate: ReturnType<Ajv2020['compile']>
  try {
    validate = new Ajv2020({ allErrors: true, strict: false, code: { optimize: false } }).compile(schema)
  } catch (error) {
    const fault = `the schema of the plug-in is invalid: ${errorMessage(error)}`
    return () => [fault]
  }
  return (value, root) => {
    if (validate(value)) return []
    return (validate.errors ?? []).slice(0, 20).map(({ instancePath, message, params }) => {
      const extra = (params as { readonly additionalProperty?: string }).additionalProperty
      const field = `${root}${instancePath.replaceAll('/', '.')}`
      return `${field} ${message ?? 'does not conform'}${extra === undefined ? '' : `: ${extra}`}`
    })
  }
}

/** What in a value does not conform to the JSON Schema of a plug-in. */
export function schemaFaults(schema: JsonObject, value: unknown, root: string): readonly string[] {
  return compileSchema(schema)(value, root)
}
