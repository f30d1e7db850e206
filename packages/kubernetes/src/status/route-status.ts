import { type GatewayRouteKind, isPlainObject, type MeshObject, type Problem, sameValue } from '@osm-ts/core'

import { type Finding, findingsHold, nextConditions, type WantedParent } from './condition.js'

/** Who writes the entries of the mesh in the status of a route. */
const ROUTE_CONTROLLER = 'openservicemesh.io/osm-controller'

/** Most messages of Kubernetes are shorter. */
const MAX_MESSAGE = 1_024
/** Entries that the definition of the kind takes. */
const MAX_PARENTS = 32

/** Reasons of the Gateway API for backends that cannot be used, by code. */
const unresolved: ReadonlyMap<string, string> = new Map([
  ['OSM_POLICY_ROUTE_BACKEND', 'BackendNotFound'],
  ['OSM_SPEC_ROUTE_KIND', 'InvalidKind'],
  ['OSM_SPEC_REF_NOT_PERMITTED', 'RefNotPermitted'],
  ['OSM_POLICY_ROUTE_PROTOCOL', 'UnsupportedProtocol'],
])

/** Reasons for routes that are not attached to a parent, by code. The second is that of the mesh profile for a route of another kind that holds. */
const unattachedReasons: ReadonlyMap<string, string> = new Map([
  ['OSM_POLICY_ROUTE_PARENT', 'NoMatchingParent'],
  ['OSM_POLICY_ROUTE_CONFLICT', 'Conflicted'],
])

/** What the status of a route should say of each Service that it is attached to; parents of other controllers are left out. */
export function wantedParents(
  route: MeshObject<GatewayRouteKind>,
  problems: readonly Problem[],
  programmed: Finding,
): readonly WantedParent[] {
  const errors = problems.filter(({ severity }) => severity === 'error')
  const resolved = resolution(errors.filter(({ code }) => unresolved.has(code)))
  const invalid = errors.filter(({ code }) => !unresolved.has(code) && !unattachedReasons.has(code))
  return route.spec.parentRefs.flatMap((parentRef, index): readonly WantedParent[] => {
    if (parentRef.group !== '' || parentRef.kind !== 'Service') return []
    const unattached = errors.filter(
      ({ code, field }) => unattachedReasons.has(code) && field === `spec.parentRefs[${index}]`,
    )
    return [{ parentRef, findings: [...acceptance(route, unattached, invalid), resolved, programmed] }]
  })
}

function acceptance(
  { spec }: MeshObject<GatewayRouteKind>,
  unattached: readonly Problem[],
  invalid: readonly Problem[],
): readonly Finding[] {
  const accepted = { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'the mesh uses the route' } as const
  const [first] = unattached
  if (first !== undefined) {
    const reason = unattachedReasons.get(first.code) ?? 'NoMatchingParent'
    return [{ type: 'Accepted', status: 'False', reason, message: words(unattached) }]
  }
  if (invalid.length === 0) return [accepted]
  const isFilters = invalid.some(({ code }) => code === 'OSM_SPEC_ROUTE_FILTERS')
  const reason = isFilters ? 'IncompatibleFilters' : 'UnsupportedValue'
  const message = words(invalid)
  const faulty = new Set(invalid.map(({ field = '' }) => /^spec\.rules\[\d+\]/.exec(field)?.[0]))
  if (faulty.has(undefined) || faulty.size === spec.rules.length)
    return [{ type: 'Accepted', status: 'False', reason, message }]
  return [accepted, { type: 'PartiallyInvalid', status: 'True', reason: 'UnsupportedValue', message }]
}

function resolution(problems: readonly Problem[]): Finding {
  const [first] = problems
  if (first === undefined)
    return { type: 'ResolvedRefs', status: 'True', reason: 'ResolvedRefs', message: 'all backends can be used' }
  const reason = unresolved.get(first.code) ?? 'BackendNotFound'
  return { type: 'ResolvedRefs', status: 'False', reason, message: words(problems) }
}

function words(problems: readonly Problem[]): string {
  const texts = problems.map(({ field, message }) => (field === undefined ? message : `${field}: ${message}`))
  const text = [...new Set(texts)].join('; ')
  return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE - 1)}…`
}

interface ParentStatus {
  readonly parentRef?: unknown
  readonly controllerName?: unknown
  readonly conditions?: unknown
}

/** The status to write: the entries of others as they are, then those of the mesh. A list of parents is replaced as a whole. */
export function nextRouteStatus(
  wanted: readonly WantedParent[],
  generation: number | undefined,
  before: unknown,
  now: number,
): { readonly parents: readonly ParentStatus[] } {
  const known = entriesOf(before)
  const ours = wanted.map(({ parentRef, findings }) => {
    const earlier = known.find((entry) => isOurs(entry) && sameValue(entry.parentRef, parentRef))
    const conditions = nextConditions(findings, generation, earlier, now)
    return { parentRef, controllerName: ROUTE_CONTROLLER, conditions }
  })
  return { parents: [...known.filter((entry) => !isOurs(entry)), ...ours].slice(0, MAX_PARENTS) }
}

/** True if the status says of each parent what it should, and nothing of other parents. */
export function saysParents(status: unknown, wanted: readonly WantedParent[], generation: number | undefined): boolean {
  const ours = entriesOf(status).filter(isOurs)
  return (
    ours.length === wanted.length &&
    wanted.every(({ parentRef, findings }) =>
      ours.some((entry) => sameValue(entry.parentRef, parentRef) && hasExactly(entry, findings, generation)),
    )
  )
}

function hasExactly(entry: ParentStatus, findings: readonly Finding[], generation: number | undefined): boolean {
  const { conditions } = entry
  return Array.isArray(conditions) && conditions.length === findings.length && findingsHold(findings, generation, entry)
}

/** The entries of the mesh in the status of a route. */
export function ownEntries(status: unknown): readonly object[] {
  return entriesOf(status).filter(isOurs)
}

function isOurs({ controllerName }: ParentStatus): boolean {
  return controllerName === ROUTE_CONTROLLER
}

function entriesOf(status: unknown): readonly ParentStatus[] {
  if (!isPlainObject(status) || !Array.isArray(status.parents)) return []
  // Members are compared and copied only, whatever they are.
  return status.parents.filter(isPlainObject)
}
