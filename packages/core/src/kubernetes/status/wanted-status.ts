import type { ProxyStatus } from '../../host/status.js'
import type { ObjectRef, Problem } from '../../problem.js'
import type { Finding, WantedStatus } from './condition.js'

/** That a proxy refuses something that was made from an object. */
export interface Refusal {
  /** `<namespace>/<instance>` of the proxy. */
  readonly proxy: string
  readonly message: string
  readonly field: string | undefined
}

/** What the status of an object is made from. */
export interface StatusFacts {
  readonly kind: string
  readonly generation: number | undefined
  readonly problems: readonly Problem[]
  readonly refusals: readonly Refusal[]
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
/** Refusals that are told one by one. */
const MAX_REFUSALS = 3

/** What the status of an object should say. The same facts give the same words. */
export function wantedStatus({ kind, generation, problems, refusals }: StatusFacts): WantedStatus {
  const restart = kind === 'MeshConfig' ? problems.filter(({ code }) => code === RESTART_CODE) : []
  const own = problems.filter((problem) => !restart.includes(problem))
  const errors = own.filter(({ severity }) => severity === 'error')
  const accepted = acceptance(own, errors)
  const programmed = programming(errors, refusals)
  const findings = [accepted, programmed, ...(kind === 'MeshConfig' ? [restartFinding(restart)] : [])]
  const fault = [accepted, programmed].find(({ status }) => status === 'False')
  return {
    generation,
    findings,
    currentStatus: fault === undefined ? 'committed' : 'error',
    reason: fault === undefined ? COMMITTED : fault.message,
  }
}

/** Key by which problems and refusals of an object are found. */
export function refKey({ kind, namespace, name }: ObjectRef): string {
  return `${kind}/${namespace}/${name}`
}

/**
 * Refusals by the object that what is refused was made from, for objects in the namespace of the proxy. Whoever has the certificate of a proxy writes the
 * text of a refusal, and could otherwise say anything in the status of every object that its policy is made of.
 */
export function refusalsByObject(proxies: readonly ProxyStatus[]): ReadonlyMap<string, readonly Refusal[]> {
  const found = new Map<string, Refusal[]>()
  for (const { name: proxy, rejected } of proxies)
    for (const { message, sources } of rejected)
      for (const { object, field } of sources) {
        if (object.namespace !== namespaceOf(proxy)) continue
        const refusal = { proxy, message, field }
        const known = found.get(refKey(object))
        if (known === undefined) found.set(refKey(object), [refusal])
        else known.push(refusal)
      }
  for (const refusals of found.values()) refusals.sort((a, b) => (a.proxy < b.proxy ? -1 : 1))
  return found
}

/** Names of proxies are `<namespace>/<instance>`. */
function namespaceOf(proxy: string): string {
  return proxy.slice(0, proxy.indexOf('/'))
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

function programming(errors: readonly Problem[], refusals: readonly Refusal[]): Finding {
  if (refusals.length > 0) {
    const told = refusals
      .slice(0, MAX_REFUSALS)
      .map(({ proxy, message, field }) => `the sidecar of ${proxy} refuses ${field ?? 'it'}: ${message}`)
    const more = refusals.length - told.length
    const message = bounded([...told, ...(more > 0 ? [`${more} more refuse it too`] : [])].join('; '))
    return { type: PROGRAMMED, status: 'False', reason: 'Refused', message }
  }
  if (errors.length > 0) {
    const message = 'what is not accepted does not reach any sidecar; what was accepted before may'
    return { type: PROGRAMMED, status: 'False', reason: 'NotAccepted', message }
  }
  const message = 'no sidecar of its namespace that is connected to the leading controller refuses it'
  return { type: PROGRAMMED, status: 'True', reason: 'Programmed', message }
}

function restartFinding(problems: readonly Problem[]): Finding {
  return problems.length > 0
    ? { type: RESTART_REQUIRED, status: 'True', reason: RESTART_CODE, message: words(problems) }
    : { type: RESTART_REQUIRED, status: 'False', reason: 'UpToDate', message: 'everything is in effect' }
}

/** Problems in words for people; sorted, so that their order is no news. */
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
