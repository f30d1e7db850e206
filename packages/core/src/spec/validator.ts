import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'

import { fromJsonPointer, type FieldPath } from './field-path.js'
import { kubernetesKeywords } from './schema/common.js'
import { kindDefinitions, type Kind } from './schema/kinds.js'
import { didYouMean } from './suggest.js'

/** A violation of a schema. */
export interface SchemaViolation {
  readonly path: FieldPath
  readonly message: string
}

const maxViolations = 10

/**
 * Checks specs against the schemas of their kinds and fills in defaults. Schemas are compiled when first needed, once
 * per validator.
 */
export class SpecValidator {
  readonly #ajv: Ajv
  readonly #compiled = new Map<Kind, ValidateFunction>()

  constructor() {
    // The schemas are ours, and a test holds them against the schema of schemas: compiling that one would take longer than all of them.
    const validateSchema = false
    this.#ajv = new Ajv({
      allErrors: true,
      useDefaults: true,
      verbose: true,
      strict: true,
      strictRequired: false,
      validateSchema,
      // Polishing the generated code takes twice as long as making it, and objects are too few for it to be won back.
      code: { optimize: false },
    })
    for (const keyword of kubernetesKeywords) this.#ajv.addKeyword(keyword)
  }

  /** Checks a spec and writes defaults into it. Returns what is wrong, empty when nothing is. */
  check(kind: Kind, spec: unknown): readonly SchemaViolation[] {
    const validate = this.#validatorFor(kind)
    if (validate(spec)) return []
    const errors = validate.errors ?? []
    // A failed alternative explains itself less well than the alternative as a whole.
    const inAlternative = new Set(
      errors.filter((error) => error.keyword === 'anyOf').map((error) => error.instancePath),
    )
    return errors
      .filter((error) => error.keyword === 'anyOf' || !inAlternative.has(error.instancePath))
      .slice(0, maxViolations)
      .map((error) => describe(error, spec))
  }

  #validatorFor(kind: Kind): ValidateFunction {
    const known = this.#compiled.get(kind)
    if (known !== undefined) return known
    const compiled = this.#ajv.compile(kindDefinitions[kind].spec)
    this.#compiled.set(kind, compiled)
    return compiled
  }
}

function describe(error: ErrorObject, spec: unknown): SchemaViolation {
  const path = fromJsonPointer(['spec'], error.instancePath, spec)
  const params = error.params as Readonly<Record<string, unknown>>
  const schema = (error.parentSchema ?? {}) as Readonly<Record<string, unknown>>
  switch (error.keyword) {
    case 'required': {
      const missing = String(params.missingProperty)
      const members = schema.properties as Readonly<Record<string, { readonly description?: string }>> | undefined
      const meaning = members?.[missing]?.description
      return {
        path: [...path, missing],
        message: `is missing${meaning === undefined ? '' : `: ${meaning.replace(/\.$/, '')}`}`,
      }
    }
    case 'type':
      return { path, message: `must be ${withArticle(String(params.type))}, not ${describeValue(error.data)}` }
    case 'enum': {
      const allowed = (params.allowedValues as readonly unknown[]).map(String)
      const guess = typeof error.data === 'string' ? didYouMean(error.data, allowed) : ''
      return { path, message: `must be one of ${allowed.join(', ')}, not ${describeValue(error.data)}${guess}` }
    }
    case 'minimum':
    case 'maximum':
      return { path, message: `must be ${describeRange(schema)}, not ${describeValue(error.data)}` }
    case 'minLength':
    case 'minItems':
      return { path, message: 'must not be empty' }
    case 'maxLength':
      return { path, message: `must be at most ${String(params.limit)} characters long` }
    case 'maxItems':
      return { path, message: `must have at most ${String(params.limit)} item${params.limit === 1 ? '' : 's'}` }
    case 'pattern':
      // The value is not repeated: the one pattern for user input guards names of environment variables, which people
      // confuse with values.
      return { path, message: `must match ${String(params.pattern)}` }
    case 'anyOf':
      return {
        path,
        message: `must be a port number from 1 to 65535 or the name of a port, not ${describeValue(error.data)}`,
      }
    default:
      return { path, message: error.message ?? `violates ${error.keyword}` }
  }
}

function withArticle(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}

function describeRange(schema: Readonly<Record<string, unknown>>): string {
  // JSON schema has numbers here; anything else would not have compiled.
  const { minimum, maximum } = schema as { readonly minimum?: number; readonly maximum?: number }
  if (minimum === undefined) return `at most ${maximum ?? minimum}`
  if (maximum === undefined) return `at least ${minimum}`
  return `from ${minimum} to ${maximum}`
}

function describeValue(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  const text = JSON.stringify(value)
  return text.length > 40 ? `${text.slice(0, 37)}...` : text
}
