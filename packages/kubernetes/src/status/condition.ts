import { isPlainObject } from '@osm-ts/core'
import { printable } from '@osm-ts/driver-api/toolkit'

/** What a condition says, apart from when it came to say so. */
export interface Finding {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  /** One word for programs: a code of docs/reference/errors.md, or a word of the condition. */
  readonly reason: string
  /** For people. */
  readonly message: string
}

/** A condition in the form that Kubernetes gave to all of them. */
export interface Condition extends Finding {
  readonly observedGeneration?: number
  /** RFC 3339, in whole seconds. */
  readonly lastTransitionTime: string
}

/** The status of an object of the mesh: conditions, and what OSM had in their place. */
export interface ObjectStatus {
  readonly observedGeneration?: number
  readonly conditions: readonly Condition[]
  /** `committed` or `error`. */
  readonly currentStatus: string
  readonly reason: string
}

/** What the status of a route should say of one of its parents. */
export interface WantedParent {
  /** As the route names it. */
  readonly parentRef: object
  readonly findings: readonly Finding[]
}

/** What an object's status should say. */
export interface WantedStatus {
  readonly generation: number | undefined
  readonly findings: readonly Finding[]
  readonly currentStatus: 'committed' | 'error'
  readonly reason: string
  /** Of routes, whose status speaks of each parent, in place of the conditions. */
  readonly parents?: readonly WantedParent[]
}

/**
 * The status to write. A condition that says the same as before keeps the time since which it does.
 *
 * @param before - the status as the API server holds it, of whatever form
 */
export function nextStatus(
  { generation, findings, reason, ...rest }: WantedStatus,
  before: unknown,
  now: number,
): ObjectStatus {
  const observed = generation === undefined ? {} : { observedGeneration: generation }
  return {
    ...observed,
    conditions: nextConditions(findings, generation, before, now),
    ...rest,
    reason: printable(reason),
  }
}

/**
 * The conditions to write. Messages hold words of users and sidecars, and kubectl prints them as they are. One that says the same as before keeps the time since which it does.
 *
 * @param before - what holds the conditions as the API server has them, of whatever form
 */
export function nextConditions(
  findings: readonly Finding[],
  generation: number | undefined,
  before: unknown,
  now: number,
): readonly Condition[] {
  const known = conditionsOf(before)
  return findings.map((finding) => {
    const earlier = known.find(({ type }) => type === finding.type)
    const since = earlier?.status === finding.status ? earlier.lastTransitionTime : undefined
    const observed = generation === undefined ? {} : { observedGeneration: generation }
    const message = printable(finding.message)
    return { ...finding, message, ...observed, lastTransitionTime: since ?? inSeconds(now) }
  })
}

/** True if the status says all of that already. Conditions of others may be beside ours. */
export function saysAll(status: unknown, { generation, findings, currentStatus, reason }: WantedStatus): boolean {
  if (!isPlainObject(status)) return false
  if (status.observedGeneration !== generation) return false
  if (status.currentStatus !== currentStatus || status.reason !== printable(reason)) return false
  return findingsHold(findings, generation, status)
}

/** True if the conditions of something say all of that. */
export function findingsHold(findings: readonly Finding[], generation: number | undefined, holder: unknown): boolean {
  const known = conditionsOf(holder)
  return findings.every((finding) =>
    known.some(
      (condition) =>
        condition.type === finding.type &&
        condition.status === finding.status &&
        condition.reason === finding.reason &&
        condition.message === printable(finding.message) &&
        condition.observedGeneration === generation,
    ),
  )
}

/** True if the conditions of something say that sidecars have acknowledged that version of an object. */
export function saysProgrammed(holder: unknown, generation: number | undefined): boolean {
  return conditionsOf(holder).some(
    ({ type, status, observedGeneration }) =>
      type === 'Programmed' && status === 'True' && observedGeneration === generation,
  )
}

function conditionsOf(status: unknown): readonly Partial<Condition>[] {
  if (!isPlainObject(status) || !Array.isArray(status.conditions)) return []
  // Members are compared and copied only, whatever they are.
  return status.conditions.filter(isPlainObject)
}

function inSeconds(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, 'Z')
}
