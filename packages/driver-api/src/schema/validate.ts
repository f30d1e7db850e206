import type { Static, TSchema } from '@sinclair/typebox'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'
import { Value, ValueErrorType, type ValueError } from '@sinclair/typebox/value'

import type { PolicyIssue } from '../policy/issues.js'

/** Issues that {@link schemaIssues} reports at most; further issues do not help the reader. */
export const MAX_SCHEMA_ISSUES = 100

/**
 * What keeps a value from fitting a schema. Each pointer occurs once. In a union only the variant that the discriminator names is reported on.
 */
export function schemaIssues(schema: TSchema, value: unknown): readonly PolicyIssue[] {
  return deduplicated(Value.Errors(schema, value))
}

/**
 * Checks many values against one schema: the check is compiled when it is first needed and kept by this object.
 */
export class SchemaValidator<T extends TSchema> {
  readonly #schema: T
  #check: TypeCheck<T> | undefined

  /** @param schema - what values must fit */
  constructor(schema: T) {
    this.#schema = schema
  }

  /** True if the value fits. */
  accepts(value: unknown): value is Static<T> {
    return this.#compiled().Check(value)
  }

  /** What keeps a value from fitting, as {@link schemaIssues} says it. */
  issues(value: unknown): readonly PolicyIssue[] {
    return this.accepts(value) ? [] : deduplicated(this.#compiled().Errors(value))
  }

  #compiled(): TypeCheck<T> {
    this.#check ??= TypeCompiler.Compile(this.#schema)
    return this.#check
  }
}

function deduplicated(errors: Iterable<ValueError>): readonly PolicyIssue[] {
  const byPointer = new Map<string, string>()
  for (const error of errors) {
    for (const { pointer, message } of explained(error)) {
      if (!byPointer.has(pointer)) byPointer.set(pointer, message)
      if (byPointer.size >= MAX_SCHEMA_ISSUES) return entries(byPointer)
    }
  }
  return entries(byPointer)
}

function entries(byPointer: ReadonlyMap<string, string>): readonly PolicyIssue[] {
  return [...byPointer].map(([pointer, message]) => ({ pointer, message }))
}

function explained(error: ValueError): readonly PolicyIssue[] {
  if (error.type === ValueErrorType.Union) return explainedUnion(error)
  return [{ pointer: error.path, message: message(error) }]
}

function message(error: ValueError): string {
  if (error.type === ValueErrorType.ObjectAdditionalProperties) return 'this property does not exist here'
  if (error.type === ValueErrorType.ObjectRequiredProperty) return 'this property is required'
  if (error.type === ValueErrorType.Literal) return `expected ${JSON.stringify(error.schema.const)}`
  return lowerFirst(error.message)
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1)
}

/** Follows the variants whose discriminators fit; without one, says which values the discriminator may have. */
function explainedUnion(error: ValueError): readonly PolicyIssue[] {
  const variants = error.errors.map((iterator) => [...iterator])
  const discriminators = discriminatorPaths(error)
  const misses = (inner: ValueError): boolean => discriminators.has(inner.path) && inner.type === ValueErrorType.Literal
  const best = closest(
    variants.filter((errors) => !errors.some(misses)),
    error.path,
  )
  if (best !== undefined) return best.flatMap(explained)
  const literals = variants.flat().filter(misses)
  const pointer = literals[0]?.path ?? error.path
  const values = literals.filter((inner) => inner.path === pointer).map((inner) => JSON.stringify(inner.schema.const))
  return [{ pointer, message: `expected ${[...new Set(values)].join(' or ')}` }]
}

/** Where every variant of a union has a constant: the value itself, or members that all variants share. */
function discriminatorPaths(error: ValueError): ReadonlySet<string> {
  const variants = error.schema.anyOf as readonly TSchema[]
  if (variants.every((variant) => variant.const !== undefined)) return new Set([error.path])
  const names = variants.map((variant) => constantMembers(variant))
  const shared = (names[0] ?? []).filter((name) => names.every((others) => others.includes(name)))
  return new Set(shared.map((name) => `${error.path}/${name}`))
}

function constantMembers(variant: TSchema): readonly string[] {
  const properties = (variant.properties ?? {}) as Readonly<Record<string, TSchema>>
  return Object.keys(properties).filter((name) => properties[name]?.const !== undefined)
}

/** The variant with the fewest errors; first of all one whose type fits, so that its errors lie further down. */
function closest(variants: readonly (readonly ValueError[])[], path: string): readonly ValueError[] | undefined {
  const distance = (errors: readonly ValueError[]): number =>
    errors.length + (errors.some((error) => isTypeError(error, path)) ? MAX_SCHEMA_ISSUES : 0)
  return variants.reduce<readonly ValueError[] | undefined>(
    (best, errors) => (best === undefined || distance(errors) < distance(best) ? errors : best),
    undefined,
  )
}

function isTypeError(error: ValueError, path: string): boolean {
  return error.path === path && error.type !== ValueErrorType.Union
}
