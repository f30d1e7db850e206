import type { ObjectOrigin, Problem } from '../../problem.js'
import { sameValue } from '../content.js'
import type { SpecErrorCode } from '../error-codes.js'
import { namespaceFault } from '../names.js'
import { allKinds, isKind, kindDefinitions } from '../schema/kinds.js'
import { isPlainObject } from '../shape.js'
import type { FileContent } from './resolve-definitions.js'

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

/** Such an object and where it is written down. */
export interface HeldOther extends OtherObject {
  readonly origin: ObjectOrigin
}

/** Characters of a spec as JSON. */
const MAX_SPEC = 65_536
/** Objects of a folder. */
const MAX_OBJECTS = 10_000

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
  const problems: readonly Problem[] = fault === undefined ? [] : [problem('OSM_SPEC_OBJECT', other, origin, fault)]
  return { other, problems }
}

/** The objects of the files, the first of those with one name; the previous map if nothing changed. A file in the middle of a save keeps what it held. */
export function resolveOthers(
  files: readonly FileContent[],
  before: ReadonlyMap<string, HeldOther>,
): { readonly held: ReadonlyMap<string, HeldOther>; readonly problems: readonly Problem[] } {
  const held = new Map<string, HeldOther>()
  const problems: Problem[] = []
  for (const content of files)
    for (const [key, other] of othersOf(content, before)) {
      if (held.has(key))
        problems.push(problem('OSM_SPEC_DUPLICATE', other, other.origin, 'is written down twice; the first one holds'))
      else if (held.size >= MAX_OBJECTS)
        problems.push(
          problem(
            'OSM_SPEC_OBJECT_BOUND',
            other,
            other.origin,
            `is beyond the first ${MAX_OBJECTS} objects of kinds of others`,
          ),
        )
      else held.set(key, other)
    }
  return { held: sameValue([...held], [...before]) ? before : held, problems }
}

function othersOf(
  { file, definitions, fading }: FileContent,
  before: ReadonlyMap<string, HeldOther>,
): readonly (readonly [string, HeldOther])[] {
  if (fading || definitions.some(({ malformed }) => malformed))
    return [...before].filter(([, { origin }]) => origin.kind === 'file' && origin.file === file)
  return definitions.flatMap(({ other, locate }) =>
    other === undefined || other.name === '' || other.spec === undefined
      ? []
      : [[`${other.group}/${other.kind}/${other.namespace}/${other.name}`, { ...other, origin: locate([]) }] as const],
  )
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

function problem(
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
