import { parseDuration } from '../../config/duration.js'
import type { Problem } from '../../problem.js'
import type { Snapshot } from '../../snapshot/snapshot.js'
import type { SpecErrorCode } from '../error-codes.js'
import type { KindMap, MeshObject } from '../objects.js'
import type { PatternChecker } from '../pattern.js'
import type { Kind } from '../schema/kinds.js'
import { didYouMean } from '../suggest.js'
import type { Claims } from './claims.js'

/** Something that is wrong with an object, as seen beside the other objects. */
export interface Finding {
  readonly code: SpecErrorCode
  readonly severity: Problem['severity']
  /** What is wrong and what would be right. */
  readonly message: string
  /** Path inside the object. */
  readonly field: string
  /** True: another object that comes or goes can put it right. Objects may be written in any order. */
  readonly pending?: true
}

/** What checks may look at. */
export interface CheckContext {
  readonly snapshot: Snapshot
  readonly clusterDomain: string
  readonly trustDomain: string
  readonly patterns: PatternChecker
  /** Who claims what, over the whole snapshot. */
  readonly claims: Claims
}

/** Looks at one object of a kind. Pure: the same snapshot gives the same findings. */
export type CheckFunction<K extends Kind> = (object: KindMap[K], context: CheckContext) => readonly Finding[]

/** An entry of the table of checks. */
export interface Check {
  readonly kind: Kind
  readonly run: (object: MeshObject, context: CheckContext) => readonly Finding[]
}

/** An entry of the table of checks, with the type of the objects hidden. */
export function check<K extends Kind>(kind: K, run: CheckFunction<K>): Check {
  // The runner hands each check objects of its kind only.
  return { kind, run: (object, context) => run(object as unknown as KindMap[K], context) }
}

/** Something that keeps an object, or a part of it, from having its effect. */
export function fault(code: SpecErrorCode, field: string, message: string): Finding {
  return { code, severity: 'error', field, message }
}

/** A fault that another object can still put right: one that is referred to, or one that stands in the way. */
export function pendingFault(code: SpecErrorCode, field: string, message: string): Finding {
  return { ...fault(code, field, message), pending: true }
}

/** Something that is most likely not meant. */
export function doubt(code: SpecErrorCode, field: string, message: string): Finding {
  return { code, severity: 'warning', field, message }
}

/** The findings of those conditions that hold. */
export function findings(
  ...conditions: readonly (Finding | false | undefined | readonly Finding[])[]
): readonly Finding[] {
  return conditions.flatMap((condition) => (condition === false || condition === undefined ? [] : condition))
}

/** `Service default/web does not exist; did you mean "wed"?` */
export function missing(snapshot: Snapshot, kind: Kind, namespace: string, name: string): string {
  const objects = namespace === '' ? snapshot.list(kind) : snapshot.byNamespace(kind, namespace)
  const names = objects.map(({ metadata }) => metadata.name)
  const where = namespace === '' ? name : `${namespace}/${name}`
  return `${kind} ${where} does not exist${didYouMean(name, names)}`
}

/** A doubt if the service account is unknown: neither written down nor used by any workload. */
export function unknownAccount(
  snapshot: Snapshot,
  namespace: string,
  name: string,
  field: string,
): Finding | undefined {
  // Every namespace of a cluster has this one.
  if (name === 'default' || snapshot.get('ServiceAccount', namespace, name) !== undefined) return undefined
  const account = { namespace, name }
  if (snapshot.workloadsOfIdentity(account).length > 0 || snapshot.instancesOfIdentity(account).length > 0)
    return undefined
  return doubt('OSM_SPEC_ACCOUNT', field, missing(snapshot, 'ServiceAccount', namespace, name))
}

/** A fault or doubt if the expression can't be used, or can hurt. */
export function badPattern(pattern: string, field: string, { patterns }: CheckContext): Finding | undefined {
  const facts = patterns.check(pattern)
  if (!facts.valid) return fault('OSM_SPEC_REGEX', field, facts.reason)
  if (!facts.costly) return undefined
  return doubt(
    'OSM_SPEC_REGEX_COSTLY',
    field,
    'repeats ambiguously: sidecars whose engine backtracks can take very long over it; let each round begin or end with a character of its own',
  )
}

/** A duration that can't be read, or runs backwards. */
export function badDuration(text: string | undefined, field: string): Finding | undefined {
  if (text === undefined) return undefined
  const milliseconds = parseDuration(text)
  if (milliseconds !== undefined && milliseconds >= 0) return undefined
  return fault('OSM_SPEC_DURATION', field, `${JSON.stringify(text)} is no duration such as 5s or 1m30s`)
}
