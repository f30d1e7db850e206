import { compareText } from '@osm-ts/driver-api/policy'
import { isGatewayRoute, type MeshObject, type ObjectRef, type Problem, type ProxyStatus } from '@osm-ts/core'

import type { Finding, WantedStatus } from './condition.js'
import { wantedParents } from './route-status.js'

/** That a proxy refuses something that was made from an object. */
export interface Refusal {
  /** `<namespace>/<instance>` of the proxy. */
  readonly proxy: string
  readonly message: string
  readonly field?: string
}

/** That proxies refuse what was made from one object. */
export interface ObjectRefusals {
  /** Key of the object: `<kind>/<namespace>/<name>`. */
  readonly object: string
  /** The first of them by proxy, as many as a status tells one by one. */
  readonly first: readonly Refusal[]
  readonly count: number
}

/** What the status of an object is made from. */
export interface StatusFacts {
  readonly kind: string
  /** The object; absent if it cannot be used at all. */
  readonly object?: MeshObject | undefined
  readonly generation: number | undefined
  readonly problems: readonly Problem[]
  readonly refusals: Omit<ObjectRefusals, 'object'>
  /** True until all connected sidecars that have something of it have acknowledged it. */
  readonly awaited: boolean
}

/** The condition that an object is used at all. */
const ACCEPTED = 'Accepted'
/** The condition that proxies take what was made from it. */
const PROGRAMMED = 'Programmed'
/** The condition of a MeshConfig that some of it takes effect with the next start only. */
const RESTART_REQUIRED = 'RestartRequired'

/** Words of OSM for an object without fault. */
const COMMITTED = 'successfully committed by the system'
const RESTART_CODE = 'OSM_CONFIG_RESTART'
/** Kubernetes takes more, people don't. */
const MAX_MESSAGE = 1_024
/** Objects whose refusals a replica tells the leader. */
const MAX_OBJECTS = 1_000
/** Characters of a proxy's words that it tells. */
const MAX_TOLD = 512
/** Refusals that are told one by one. */
const MAX_REFUSALS = 3

/** What the status of an object should say. The same facts give the same words. */
export function wantedStatus({ kind, object, generation, problems, refusals, awaited }: StatusFacts): WantedStatus {
  const restart = kind === 'MeshConfig' ? problems.filter(({ code }) => code === RESTART_CODE) : []
  const own = problems.filter((problem) => !restart.includes(problem))
  const errors = own.filter(({ severity }) => severity === 'error')
  const accepted = acceptance(own, errors)
  const programmed = programming(errors, refusals, awaited)
  const findings = [accepted, programmed, ...(kind === 'MeshConfig' ? [restartFinding(restart)] : [])]
  const fault = [accepted, programmed].find(({ status }) => status === 'False')
  return {
    generation,
    findings,
    currentStatus: fault === undefined ? 'committed' : 'error',
    reason: fault === undefined ? COMMITTED : fault.message,
    ...(object !== undefined && isGatewayRoute(object) ? { parents: wantedParents(object, problems, programmed) } : {}),
  }
}

/** Key by which problems and refusals of an object are found. */
export function refKey({ kind, namespace, name }: ObjectRef): string {
  return `${kind}/${namespace}/${name}`
}

/**
 * Refusals by the object that what is refused was made from, for objects in the namespace of the proxy, or in none. The result is bounded, so that one replica can send it to
 * another. Any holder of a proxy certificate can write the text of a refusal, and could otherwise write into the status of objects of other namespaces.
 */
export function summarizeRefusals(proxies: readonly ProxyStatus[]): readonly ObjectRefusals[] {
  const found = new Map<string, Refusal[]>()
  for (const { name: proxy, rejected } of proxies)
    for (const { message, sources } of rejected)
      for (const { object, field } of sources) {
        // A Plugin is of no namespace: its operator learns of every sidecar that refuses it, and of no other text than that of an event.
        if (object.namespace !== '' && object.namespace !== namespaceOf(proxy)) continue
        const refusal = { proxy, message: message.slice(0, MAX_TOLD), ...(field === undefined ? {} : { field }) }
        const known = found.get(refKey(object))
        if (known === undefined) found.set(refKey(object), [refusal])
        else known.push(refusal)
      }
  return fairShare([...found].sort(([a], [b]) => compareText(a, b))).map(([object, refusals]) => ({
    object,
    first: firstOf(refusals),
    count: refusals.length,
  }))
}

/** The first objects of each namespace: the refusals of one namespace must not displace those of others. */
function fairShare<T>(sorted: readonly (readonly [string, T])[]): readonly (readonly [string, T])[] {
  if (sorted.length <= MAX_OBJECTS) return sorted
  const counts = new Map<string, number>()
  const ranked = sorted.map((entry) => {
    const namespace = entry[0].split('/')[1] ?? ''
    const rank = counts.get(namespace) ?? 0
    counts.set(namespace, rank + 1)
    return { entry, rank }
  })
  // The sort is stable: objects of equal rank stay in the order of their keys.
  return ranked
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MAX_OBJECTS)
    .map(({ entry }) => entry)
    .sort(([a], [b]) => compareText(a, b))
}

/** Refusals by object, of several replicas together. */
export function refusalsByObject(refusals: readonly ObjectRefusals[]): ReadonlyMap<string, ObjectRefusals> {
  const found = new Map<string, ObjectRefusals>()
  for (const one of refusals) {
    const { first = [], count = 0 } = found.get(one.object) ?? {}
    found.set(one.object, {
      object: one.object,
      first: firstOf([...first, ...one.first]),
      count: count + one.count,
    })
  }
  return found
}

/** Names of proxies are `<namespace>/<instance>`. */
function namespaceOf(proxy: string): string {
  return proxy.slice(0, proxy.indexOf('/'))
}

/** True for what another replica may have told. */
export function isObjectRefusals(value: unknown): value is ObjectRefusals {
  if (typeof value !== 'object' || value === null) return false
  const { object, first, count } = value as Readonly<Partial<Record<keyof ObjectRefusals, unknown>>>
  return typeof object === 'string' && Number.isSafeInteger(count) && Array.isArray(first) && first.every(isRefusal)
}

function isRefusal(value: unknown): value is Refusal {
  if (typeof value !== 'object' || value === null) return false
  const { proxy, message, field } = value as Readonly<Partial<Record<keyof Refusal, unknown>>>
  return typeof proxy === 'string' && typeof message === 'string' && (field === undefined || typeof field === 'string')
}

function firstOf(refusals: readonly Refusal[]): readonly Refusal[] {
  const seen = new Map<string, number>()
  const ranked = refusals
    .toSorted((a, b) => compareText(a.proxy, b.proxy))
    .map((refusal) => {
      const rank = seen.get(refusal.proxy) ?? 0
      seen.set(refusal.proxy, rank + 1)
      return { refusal, rank }
    })
  // As many sidecars as possible, and then what else each of them refuses.
  return ranked
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, MAX_REFUSALS)
    .map(({ refusal }) => refusal)
}

function acceptance(problems: readonly Problem[], errors: readonly Problem[]): Finding {
  const [error] = errors
  if (error !== undefined)
    return {
      type: ACCEPTED,
      status: 'False',
      reason: error.code,
      message: words([...errors, ...without(problems, errors)]),
    }
  const [warning] = problems
  if (warning !== undefined) return { type: ACCEPTED, status: 'True', reason: warning.code, message: words(problems) }
  return { type: ACCEPTED, status: 'True', reason: 'Accepted', message: 'the mesh uses the object' }
}

function programming(errors: readonly Problem[], { first, count }: StatusFacts['refusals'], awaited: boolean): Finding {
  if (count > 0) {
    const told = first.map(
      ({ proxy, message, field }) => `the sidecar of ${proxy} refuses ${field ?? 'it'}: ${message}`,
    )
    const more = count - told.length
    const message = bounded([...told, ...(more > 0 ? [`${more} more refuse it too`] : [])].join('; '))
    return { type: PROGRAMMED, status: 'False', reason: 'Refused', message }
  }
  if (errors.length > 0) {
    const message = 'what is not accepted does not reach any sidecar; what was accepted before may'
    return { type: PROGRAMMED, status: 'False', reason: 'NotAccepted', message }
  }
  if (awaited) {
    const message = 'a connected sidecar has not acknowledged it yet'
    return { type: PROGRAMMED, status: 'Unknown', reason: 'Pending', message }
  }
  const message = 'every connected sidecar that has something of it has acknowledged it'
  return { type: PROGRAMMED, status: 'True', reason: 'Programmed', message }
}

function restartFinding(problems: readonly Problem[]): Finding {
  return problems.length > 0
    ? { type: RESTART_REQUIRED, status: 'True', reason: RESTART_CODE, message: words(problems) }
    : { type: RESTART_REQUIRED, status: 'False', reason: 'UpToDate', message: 'everything is in effect' }
}

/** Problems in words for people; sorted, so that a changed order is no change. */
function words(problems: readonly Problem[]): string {
  const texts = problems.map(({ field, message }) => (field === undefined ? message : `${field}: ${message}`))
  return bounded([...new Set(texts)].join('; '))
}

function without(problems: readonly Problem[], others: readonly Problem[]): readonly Problem[] {
  return problems.filter((problem) => !others.includes(problem))
}

function bounded(text: string): string {
  return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE - 1)}…`
}
