import type { ObjectOrigin, Problem } from '../../problem.js'
import type { SpecErrorCode } from '../error-codes.js'
import { namespaceFault } from '../names.js'
import { allKinds, isKind, kindDefinitions } from '../schema/kinds.js'
import { isPlainObject } from '../shape.js'

type Dictionary = Readonly<Record<string, unknown>>

/** An object of a kind that the mesh does not read itself, such as one of an endpoints provider. */
export interface OtherObject {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly spec: unknown
}

/** Characters of a spec as JSON. */
const MAX_SPEC = 65_536

/** True for objects in a group of others: a DNS name, and none of the mesh, in which an unknown kind is a mistake. */
export function isOtherKind(value: unknown): value is Dictionary {
  if (!isPlainObject(value)) return false
  const { apiVersion, kind } = value
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || isKind(kind)) return false
  const [group = '', version] = apiVersion.split('/')
  if (version === undefined || !group.includes('.') || /(^|\.)k8s\.io$/.test(group)) return false
  return !allKinds().some((known) => kindDefinitions[known].apiVersion.startsWith(`${group}/`))
}

/** Reads such an object. */
export function readOtherObject(
  value: Dictionary,
  { origin, defaultNamespace }: { readonly origin: ObjectOrigin; readonly defaultNamespace: string },
): { readonly other: OtherObject; readonly problems: readonly Problem[] } {
  const { apiVersion, kind, metadata, spec } = value
  const { name, namespace, labels } = isPlainObject(metadata) ? metadata : {}
  const [group = '', version = ''] = String(apiVersion).split('/')
  const other = {
    group,
    version,
    kind: String(kind),
    namespace: typeof namespace === 'string' && namespace !== '' ? namespace : defaultNamespace,
    name: typeof name === 'string' ? name : '',
    labels: textsOf(labels),
    spec: isWithinBound(spec) ? spec : undefined,
  }
  const fault = faultOf(other, spec)
  const problems: readonly Problem[] =
    fault === undefined ? [] : [otherProblem('OSM_SPEC_OBJECT', other, origin, fault)]
  return { other, problems }
}

function faultOf({ name, namespace }: OtherObject, spec: unknown): string | undefined {
  if (name === '' || name.length > 253) return 'needs a metadata.name of 1 to 253 characters'
  const rule = namespaceFault(namespace)
  if (rule !== undefined) return `metadata.namespace ${rule}`
  return isWithinBound(spec) ? undefined : `needs a spec, of ${MAX_SPEC} characters as JSON at most`
}

function isWithinBound(spec: unknown): boolean {
  return isPlainObject(spec) && JSON.stringify(spec).length <= MAX_SPEC
}

/** A problem of such an object. */
export function otherProblem(
  code: SpecErrorCode,
  { kind, namespace, name }: OtherObject,
  origin: ObjectOrigin,
  message: string,
): Problem {
  return { code, severity: 'error', message, object: { kind, namespace, name }, origin }
}

function textsOf(value: unknown): Readonly<Record<string, string>> {
  const entries = isPlainObject(value) ? Object.entries(value) : []
  return Object.fromEntries(entries.flatMap(([name, text]) => (typeof text === 'string' ? [[name, text]] : [])))
}
