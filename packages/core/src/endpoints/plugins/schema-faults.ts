import type { JsonObject } from '@osm-ts/endpoints-api'
import { Ajv2020 } from 'ajv/dist/2020.js'

/**
 * What in a value does not conform to the JSON Schema of a plug-in, each with its field.
 *
 * @param root - name of the value, such as `settings`
 */
export function schemaFaults(schema: JsonObject, value: unknown, root: string): readonly string[] {
  let validate: ReturnType<Ajv2020['compile']>
  try {
    validate = new Ajv2020({ allErrors: true, strict: false, code: { optimize: false } }).compile(schema)
  } catch (error) {
    return [`the schema of the plug-in is invalid: ${error instanceof Error ? error.message : String(error)}`]
  }
  if (validate(value)) return []
  return (validate.errors ?? []).slice(0, 20).map(({ instancePath, message, params }) => {
    const extra = (params as { readonly additionalProperty?: string }).additionalProperty
    const field = `${root}${instancePath.replaceAll('/', '.')}`
    return `${field} ${message ?? 'does not conform'}${extra === undefined ? '' : `: ${extra}`}`
  })
}
