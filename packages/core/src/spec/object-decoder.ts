import type { JsonValue } from '@osm-ts/driver-api/policy'

import { atOnce, type Steps } from '../async/index.js'
import type { ObjectOrigin, ObjectRef, Problem } from '../problem.js'
import { convert, type RawObject } from './convert.js'
import type { SpecErrorCode } from './error-codes.js'
import { exceeded, expressionsOf, objectExpressionBounds, sumExpressionsInSteps } from './expressions.js'
import { formatFieldPath, type FieldPath } from './field-path.js'
import { nameFault, namespaceFault } from './names.js'
import { makeObjectKey, type MeshObject, type ObjectKey, type ObjectMetadata } from './objects.js'
import type { PatternChecker } from './pattern.js'
import { freeObject, textMap } from './schema/common.js'
import { allKinds, isInGroupOf, isKind, kindDefinitions, kindWrittenAs, type Kind } from './schema/kinds.js'
import { isPlainObject, OversizeError, shape, type ShapeContext } from './shape.js'
import { didYouMean } from './suggest.js'
import { SpecValidator } from './validator.js'

/** Where the object being decoded comes from. */
export interface DecodeContext {
  readonly origin: ObjectOrigin
  /** Namespace of namespaced objects that name none. */
  readonly defaultNamespace: string
  /** Where a field is written down. */
  locate(path: FieldPath): ObjectOrigin
  /** The text that an unquoted scalar was written with. */
  sourceText(path: FieldPath): string | undefined
}

/** What became of an object. */
export interface Decoded {
  /** There whenever kind, namespace and name could be told, even if the object can't be used. */
  readonly key?: ObjectKey
  /** What was written as namespace and name, even if the kind is not known. */
  readonly named?: { readonly namespace: string; readonly name: string }
  readonly object?: MeshObject
  readonly problems: readonly Problem[]
}

const metadataMembers = [
  'name',
  'namespace',
  'labels',
  'annotations',
  'generation',
  'generateName',
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'ownerReferences',
  'finalizers',
  'managedFields',
  'selfLink',
] as const
const objectMembers: readonly string[] = ['apiVersion', 'kind', 'metadata', 'spec', 'status']
/** Problems of one object that are listed; it may have as many as it has fields. */
const maxProblems = 20
/** Unknown kinds that are remembered. */
const MAX_GUESSES = 50
const labelsSchema = textMap('Labels or annotations.')
const statusSchema = freeObject('Status.')

/** Turns what was written into checked, frozen objects. Never throws for bad input: that becomes problems. */
export class ObjectDecoder {
  readonly #validator = new SpecValidator()
  readonly #writtenBy: 'user' | 'runtime'
  readonly #patterns: PatternChecker | undefined
  /** What may be meant by unknown kinds: there are many objects of few of them. */
  readonly #guesses = new Map<string, string>()

  /**
   * @param writtenBy - which kinds are taken: those of users, or those of the supervisor of local processes
   * @param patterns - refuses objects with an expression that can't be used. For sources that remember the last good version of an object; without it
   *   such an object is taken, and what its expression stands for holds for nothing
   */
  constructor(writtenBy: 'user' | 'runtime' = 'user', patterns?: PatternChecker) {
    this.#writtenBy = writtenBy
    this.#patterns = patterns
  }

  decode(raw: unknown, context: DecodeContext): Decoded {
    return atOnce(this.decodeInSteps(raw, context))
  }

  /** The same in steps, none of which takes long for the largest object. */
  *decodeInSteps(raw: unknown, context: DecodeContext): Steps<Decoded> {
    const decoding = new Decoding(context)
    try {
      return decoding.finish(yield* this.#decode(raw, context, decoding))
    } catch (error) {
      if (!(error instanceof OversizeError)) throw error
      decoding.report('OSM_SPEC_OBJECT_BOUND', [], error.message)
      return decoding.finish(undefined)
    }
  }

  *#decode(raw: unknown, context: DecodeContext, decoding: Decoding): Steps<MeshObject | undefined> {
    const identity = this.#identify(raw, context, decoding)
    if (identity === undefined) return undefined
    const { kind, written, metadata } = identity
    const definition = kindDefinitions[kind]
    const converted = convert(kind, identity.apiVersion, written)
    if (!definition.partial) decoding.reportUnknown(converted, objectMembers, [])
    const reporting = definition.partial ? { ...decoding.shaping, unknownMember: ignore } : decoding.shaping
    const spec = shape(definition.spec, converted.spec ?? {}, ['spec'], reporting)
    yield
    const violations = this.#validator.check(kind, spec)
    for (const { path, message } of violations) decoding.report('OSM_SPEC_SCHEMA', path, message)
    if (decoding.failed) return undefined
    yield
    // The spec was just checked against the schema of its kind, which is what the type is made from.
    if (!(yield* this.#acceptsExpressions({ kind, spec } as Pick<MeshObject, 'kind' | 'spec'>, decoding)))
      return undefined
    yield
    const status = isPlainObject(converted.status)
      ? shape(statusSchema, converted.status, ['status'], decoding.shaping)
      : undefined
    return deepFreeze({
      apiVersion: definition.apiVersion,
      kind,
      metadata,
      spec,
      ...(status === undefined ? {} : { status: status as Readonly<Record<string, JsonValue>> }),
      origin: context.origin,
      // The spec was just checked against the schema of its kind, which is what the type is made from.
    } as MeshObject)
  }

  *#acceptsExpressions(object: Pick<MeshObject, 'kind' | 'spec'>, decoding: Decoding): Steps<boolean> {
    const expressions = expressionsOf(object)
    const beyond = exceeded(yield* sumExpressionsInSteps(expressions), objectExpressionBounds)
    yield
    if (beyond !== undefined) decoding.report('OSM_SPEC_OBJECT_BOUND', ['spec'], `has ${beyond} in an object`)
    else if (object.kind === 'HTTPRouteGroup')
      for (const { path, pattern } of expressions) {
        const facts = this.#patterns?.check(pattern)
        if (facts?.valid === false) decoding.report('OSM_SPEC_REGEX', path, facts.reason)
        yield
      }
    return !decoding.failed
  }

  #identify(
    raw: unknown,
    context: DecodeContext,
    decoding: Decoding,
  ): { kind: Kind; apiVersion: string; written: RawObject; metadata: ObjectMetadata } | undefined {
    if (!isPlainObject(raw)) {
      decoding.report(
        'OSM_SPEC_OBJECT',
        [],
        'the document is not an object of the mesh specification: apiVersion, kind and metadata.name are needed',
      )
      return undefined
    }
    const { apiVersion, kind: written } = raw
    decoding.named = nameOf(raw, context.defaultNamespace)
    if (typeof written !== 'string') {
      decoding.report('OSM_SPEC_OBJECT', ['kind'], 'is missing: apiVersion, kind and metadata.name are needed')
      return undefined
    }
    const kind = kindWrittenAs(written, apiVersion)
    if (kind === undefined) {
      this.#reportUnknownKind(written, apiVersion, decoding)
      return undefined
    }
    const definition = kindDefinitions[kind]
    const metadata = this.#metadata(kind, raw, context, decoding)
    if (metadata === undefined) return undefined
    if (typeof apiVersion !== 'string') {
      decoding.report('OSM_SPEC_OBJECT', ['apiVersion'], `is missing: for ${kind} it is ${definition.apiVersion}`)
      return undefined
    }
    const versions = [definition.apiVersion, ...definition.alsoAccepted]
    if (!versions.includes(apiVersion)) {
      const known = versions.length === 1 ? `${versions.join()} is` : `${versions.join(', ')} are`
      decoding.report(
        'OSM_SPEC_VERSION',
        ['apiVersion'],
        `${JSON.stringify(apiVersion)} is not known for ${kind}; ${known}`,
      )
    }
    if (definition.writtenBy !== this.#writtenBy)
      decoding.report(
        'OSM_SPEC_KIND_INTERNAL',
        ['kind'],
        definition.writtenBy === 'runtime'
          ? `${kind} is written by the supervisor of local processes; describe a Workload instead`
          : `${kind} does not belong into the state folder of the supervisor`,
      )
    return { kind, apiVersion, written: raw, metadata }
  }

  #reportUnknownKind(kind: string, apiVersion: unknown, decoding: Decoding): void {
    const kinds = allKinds().filter((known) => kindDefinitions[known].writtenBy === this.#writtenBy)
    const guess = this.#guessAt(kind, kinds)
    const ours = kinds.some((known) => isInGroupOf(known, apiVersion))
    decoding.report(
      'OSM_SPEC_KIND',
      ['kind'],
      `${JSON.stringify(kind)} is not known${guess}; known kinds are ${kinds.join(', ')}`.replace(
        '?; known',
        '? Known',
      ),
      // Folders often hold objects for others too, such as Deployments.
      ours || guess !== '' ? 'error' : 'warning',
    )
  }

  #guessAt(kind: string, kinds: readonly Kind[]): string {
    const known = this.#guesses.get(kind)
    if (known !== undefined) return known
    const guess = didYouMean(kind, kinds)
    if (this.#guesses.size < MAX_GUESSES) this.#guesses.set(kind, guess)
    return guess
  }

  #metadata(kind: Kind, raw: RawObject, context: DecodeContext, decoding: Decoding): ObjectMetadata | undefined {
    const written = raw.metadata
    if (!isPlainObject(written) || (typeof written.name !== 'string' && typeof written.name !== 'number')) {
      decoding.report('OSM_SPEC_OBJECT', ['metadata', 'name'], `is missing: every ${kind} needs a name`)
      return undefined
    }
    const name =
      typeof written.name === 'string'
        ? written.name
        : (context.sourceText(['metadata', 'name']) ?? String(written.name))
    const { scope, partial, foreign } = kindDefinitions[kind]
    const given =
      typeof written.namespace === 'string' && written.namespace !== '' ? written.namespace : context.defaultNamespace
    const namespace = scope === 'Cluster' ? '' : given
    decoding.object = { kind, namespace, name }
    const nameRule = nameFault(kind, name)
    if (nameRule !== undefined)
      decoding.report('OSM_SPEC_NAME', ['metadata', 'name'], `${nameRule}; ${JSON.stringify(name)} is not`)
    const namespaceRule = namespace === '' ? undefined : namespaceFault(namespace)
    if (namespaceRule !== undefined)
      decoding.report(
        'OSM_SPEC_NAME',
        ['metadata', 'namespace'],
        `${namespaceRule}; ${JSON.stringify(namespace)} is not`,
      )
    if (!partial) decoding.reportUnknown(written, metadataMembers, ['metadata'])
    return {
      name,
      namespace,
      labels: this.#texts(written.labels, ['metadata', 'labels'], decoding),
      annotations: this.#texts(written.annotations, ['metadata', 'annotations'], decoding),
      ...(typeof written.generation === 'number' ? { generation: written.generation } : {}),
      ...(foreign ? creationTime(written.creationTimestamp) : {}),
    }
  }

  #texts(value: unknown, path: FieldPath, decoding: Decoding): Readonly<Record<string, string>> {
    if (value === undefined || value === null) return {}
    const shaped = shape(labelsSchema, value, path, decoding.shaping)
    if (!isPlainObject(shaped)) {
      decoding.report('OSM_SPEC_SCHEMA', path, 'must be an object of texts')
      return {}
    }
    for (const [name, text] of Object.entries(shaped))
      if (typeof text !== 'string') decoding.report('OSM_SPEC_SCHEMA', [...path, name], 'must be a text')
    // Every member is a text, or the object was refused above.
    return shaped as Readonly<Record<string, string>>
  }
}

/** Routes of the Gateway API are ordered by age. */
function creationTime(written: unknown): { readonly createdAt?: string } {
  const time = typeof written === 'string' ? Date.parse(written) : written instanceof Date ? written.getTime() : NaN
  return Number.isNaN(time) ? {} : { createdAt: new Date(time).toISOString() }
}

/** The namespace and name that were written, whatever the kind. */
function nameOf(raw: RawObject, defaultNamespace: string): Decoded['named'] {
  if (!isPlainObject(raw.metadata)) return undefined
  const { name, namespace } = raw.metadata
  if (typeof name !== 'string') return undefined
  return { name, namespace: typeof namespace === 'string' ? namespace : defaultNamespace }
}

/** Collects what is found out about one object. */
class Decoding {
  /** Set as soon as it is known; problems from then on name it. */
  object: ObjectRef | undefined
  named: Decoded['named']
  readonly shaping: ShapeContext
  readonly #context: DecodeContext
  readonly #problems: Problem[] = []
  #failed = false
  #found = 0

  constructor(context: DecodeContext) {
    this.#context = context
    this.shaping = {
      unknownMember: (path, known) => {
        this.#reportUnknownMember(path, known)
      },
      sourceText: (path) => context.sourceText(path),
    }
  }

  get failed(): boolean {
    return this.#failed
  }

  report(code: SpecErrorCode, path: FieldPath, message: string, severity: Problem['severity'] = 'error'): void {
    if (severity === 'error') this.#failed = true
    this.#found += 1
    if (this.#found > maxProblems) return
    this.#problems.push({
      code,
      severity,
      message,
      ...(this.object === undefined ? {} : { object: this.object }),
      origin: path.length === 0 ? this.#context.origin : this.#context.locate(path),
      ...(path.length === 0 ? {} : { field: formatFieldPath(path) }),
    })
  }

  reportUnknown(value: RawObject, known: readonly string[], base: FieldPath): void {
    for (const name of Object.keys(value)) if (!known.includes(name)) this.#reportUnknownMember([...base, name], known)
  }

  finish(object: MeshObject | undefined): Decoded {
    const { object: ref } = this
    return {
      ...(ref !== undefined && isKind(ref.kind) ? { key: makeObjectKey(ref.kind, ref.namespace, ref.name) } : {}),
      ...(this.named === undefined ? {} : { named: this.named }),
      ...(object === undefined ? {} : { object }),
      problems: this.#found > maxProblems ? [...this.#problems, this.#unlisted()] : this.#problems,
    }
  }

  #unlisted(): Problem {
    const code: SpecErrorCode = 'OSM_SPEC_MORE'
    return {
      code,
      severity: this.#failed ? 'error' : 'warning',
      message: `has ${this.#found - maxProblems} more problems, which are not listed`,
      ...(this.object === undefined ? {} : { object: this.object }),
      origin: this.#context.origin,
    }
  }

  #reportUnknownMember(path: FieldPath, known: readonly string[]): void {
    const name = String(path.at(-1))
    const guess = this.#found < maxProblems ? didYouMean(name, known) : ''
    this.report('OSM_SPEC_FIELD_UNKNOWN', path, `is not known and not read${guess}`, 'warning')
  }
}

function ignore(): void {
  // Unknown fields of Kubernetes' own kinds are many and legitimate.
}

function deepFreeze<T>(value: T): T {
  if (value === null || typeof value !== 'object') return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}
