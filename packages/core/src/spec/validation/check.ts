import type { Steps } from '../../async/index.js'
import { parseDuration } from '../../config/duration.js'
import type { Problem } from '../../problem.js'
import type { Snapshot } from '../../snapshot/snapshot.js'
import type { SpecErrorCode } from '../error-codes.js'
import type { KindMap, MeshObject } from '../objects.js'
import type { PatternChecker } from '../pattern.js'
import { refusedReference, type ConsentRule, type CrossReference } from '../reference-grant.js'
import type { Kind } from '../schema/kinds.js'
import { didYouMean, type SuggestionBudget } from '../suggest.js'
import type { ClaimLookup } from './claims.js'

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
  /** What decides about references to other namespaces. */
  readonly consent: ConsentRule
  /** True if a reference counts. */
  readonly permits: (reference: CrossReference) => boolean
  /** Names of the certificate of the ingress gateway. */
  readonly gatewayNames: () => readonly string[]
  /** True: a MeshRootCertificate decides who issues certificates. */
  readonly readsRootCertificates: boolean
  readonly patterns: PatternChecker
  /** Who claims what, over the whole snapshot. */
  readonly claims: ClaimLookup
  /** Of the object that is checked. */
  readonly suggestions: SuggestionBudget
}

/** Looks at one object of a kind, in steps if it has lists that may be long. Pure: the same snapshot gives the same findings. */
export type CheckFunction<K extends Kind> = (
  object: KindMap[K],
  context: CheckContext,
) => readonly Finding[] | Steps<readonly Finding[]>

/** An entry of the table of checks. */
export interface Check {
  readonly kind: Kind
  readonly run: (object: MeshObject, context: CheckContext) => Steps<readonly Finding[]>
}

/** An entry of the table of checks, with the type of the objects hidden. */
export function check<K extends Kind>(kind: K, run: CheckFunction<K>): Check {
  return {
    kind,
    *run(object, context) {
      // The runner hands each check objects of its kind only.
      const found = run(object as unknown as KindMap[K], context)
      return isSteps(found) ? yield* found : found
    },
  }
}

function isSteps(found: readonly Finding[] | Steps<readonly Finding[]>): found is Steps<readonly Finding[]> {
  return !Array.isArray(found)
}

/** The findings of all items of a list that may be long: an item in each step. */
export function* inEach<T>(
  items: readonly T[],
  find: (item: T, index: number) => readonly Finding[],
): Steps<readonly Finding[]> {
  const found: Finding[] = []
  for (const [index, item] of items.entries()) {
    for (const finding of find(item, index)) found.push(finding)
    yield
  }
  return found
}

/** Something that keeps an object, or a part of it, from having its effect. */
export function fault(code: SpecErrorCode, field: string, message: string): Finding {
  return { code, severity: 'error', field, message }
}

/** A fault that another object can still put right: one that is referred to, or one that is in the way. */
export function pendingFault(code: SpecErrorCode, field: string, message: string): Finding {
  return { ...fault(code, field, message), pending: true }
}

/**
 * A fault if a reference to another namespace does not count. A ReferenceGrant may still come.
 *
 * @param effect - what comes of it
 */
export function refused(
  reference: CrossReference,
  { field, effect }: { readonly field: string; readonly effect: string },
  { permits }: CheckContext,
): Finding | undefined {
  return permits(reference)
    ? undefined
    : pendingFault('OSM_SPEC_REF_NOT_PERMITTED', field, refusedReference(reference, effect))
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
export function missing({ snapshot, suggestions }: CheckContext, kind: Kind, namespace: string, name: string): string {
  const objects = namespace === '' ? snapshot.list(kind) : snapshot.byNamespace(kind, namespace)
  const where = namespace === '' ? name : `${namespace}/${name}`
  return `${kind} ${where} does not exist${didYouMean(name, namesOf(objects), suggestions)}`
}

/** One after the other: most are never requested. */
function* namesOf(objects: readonly MeshObject[]): Iterable<string> {
  for (const { metadata } of objects) yield metadata.name
}

/** A doubt if the service account is unknown: neither written down nor used by any workload. */
export function unknownAccount(
  context: CheckContext,
  namespace: string,
  name: string,
  field: string,
): Finding | undefined {
  const { snapshot } = context
  // Every namespace of a cluster has this one.
  if (name === 'default' || snapshot.get('ServiceAccount', namespace, name) !== undefined) return undefined
  const account = { namespace, name }
  if (snapshot.workloadsOfIdentity(account).length > 0 || snapshot.instancesOfIdentity(account).length > 0)
    return undefined
  return doubt('OSM_SPEC_ACCOUNT', field, missing(context, 'ServiceAccount', namespace, name))
}

/** A fault or doubt if the expression can't be used, or can hurt. */
export function badPattern(pattern: string, field: string, { patterns }: CheckContext): Finding | undefined {
  const facts = patterns.check(pattern)
  if (!facts.valid) return fault('OSM_SPEC_REGEX', field, facts.reason)
  if (!patterns.isCostly(pattern)) return undefined
  return doubt(
    'OSM_SPEC_REGEX_COSTLY',
    field,
    'repeats ambiguously: sidecars with a backtracking engine can be very slow; start or end each repetition with a character that occurs nowhere else in it',
  )
}

/** A duration that can't be read, or runs backwards. */
export function badDuration(text: string | undefined, field: string): Finding | undefined {
  if (text === undefined) return undefined
  const milliseconds = parseDuration(text)
  if (milliseconds !== undefined && milliseconds >= 0) return undefined
  return fault('OSM_SPEC_DURATION', field, `${JSON.stringify(text)} is not a duration such as 5s or 1m30s`)
}
