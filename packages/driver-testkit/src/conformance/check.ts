import type { Driver } from '@osm-ts/driver-api'
import { declares, type RequiredFeature } from '@osm-ts/driver-api/host'
import type { JsonValue } from '@osm-ts/driver-api/policy'

import type { StandIn } from './stand-in.js'

/** What is tried. */
export interface Subject {
  readonly driver: Driver
  /** `sidecarDrivers[].config` that it is tried with: what its schema demands. */
  readonly config: JsonValue
  /** What speaks for its proxies. Absent: what needs one is not tried. */
  readonly standIn?: StandIn
  /** Milliseconds that it may take to release what was opened, and to take note of a new certificate; 5,000 if absent. */
  readonly settleMs?: number
}

/** What a check may need of a driver: something that it declares. `standalone` is the capability of that name. */
export type Need = RequiredFeature | 'standalone'

/** One thing that a driver has to hold. */
export interface Check {
  /** Stable, such as `patch.pure`. */
  readonly id: string
  /** The one line that it proves. */
  readonly proves: string
  /** A driver that does not declare all of it is not tried. */
  readonly needs?: readonly Need[]
  /** It is tried only with something that speaks for the driver's proxies. */
  readonly needsStandIn?: boolean
  /** Longest that it may take, in milliseconds; that of {@link RunOptions} if absent. */
  readonly timeoutMs?: number
  /** Resolves if it holds. Rejects with the reason, a {@link Violation} or whatever the driver threw. */
  readonly prove: (subject: Subject, signal: AbortSignal) => Promise<void>
}

/** What became of a check. */
export type CheckResult = Pick<Check, 'id' | 'proves'> & { readonly milliseconds: number } & (
    | { readonly outcome: 'passed' }
    | { readonly outcome: 'failed'; readonly reason: string }
    /** The driver does not declare what the check needs, or nothing speaks for its proxies. */
    | { readonly outcome: 'not claimed'; readonly needs: Need | 'stand-in' }
  )

/** What a driver does against the contract, in words for its author. */
export class Violation extends Error {
  override readonly name = 'Violation'
}

/** @throws Violation with that reason, unless it holds */
export function expect(holds: boolean, reason: string): asserts holds {
  if (!holds) throw new Violation(reason)
}

/** @throws Violation that lists what is wrong, if anything is */
export function expectNone(what: string, issues: readonly { readonly pointer: string; readonly message: string }[]) {
  const words = issues.map(({ pointer, message }) => `${pointer === '' ? '/' : pointer} ${message}`)
  expect(words.length === 0, `${what}: ${words.join('; ')}`)
}

/** Longest that one check may take, in milliseconds: a driver that hangs fails it. */
const CHECK_TIMEOUT_MS = 30_000

/** How checks are run. */
export interface RunOptions {
  readonly signal: AbortSignal
  /** Milliseconds; 30,000 if absent. */
  readonly timeoutMs?: number
  /** Told of each result as it comes. Must not throw. */
  readonly onResult?: (result: CheckResult) => void
}

/** Runs one check. Never rejects: what a driver throws is the reason of a failure. */
export async function runCheck(
  { id, proves, needs = [], needsStandIn, prove, ...own }: Check,
  subject: Subject,
  { signal, ...options }: RunOptions,
): Promise<CheckResult> {
  const timeoutMs = own.timeoutMs ?? options.timeoutMs ?? CHECK_TIMEOUT_MS
  const began = performance.now()
  const head = () => ({ id, proves, milliseconds: Math.round(performance.now() - began) })
  const missing = needs.find((need) => !isDeclared(subject, need))
  if (missing !== undefined) return { ...head(), outcome: 'not claimed', needs: missing }
  if (needsStandIn === true && subject.standIn === undefined)
    return { ...head(), outcome: 'not claimed', needs: 'stand-in' }
  // Nothing is begun any more that would have to be ended at once.
  if (signal.aborted) return { ...head(), outcome: 'failed', reason: 'it was stopped' }
  const limit = new AbortController()
  const end = () => limit.abort()
  signal.addEventListener('abort', end, { once: true })
  const timer = setTimeout(end, timeoutMs)
  try {
    await Promise.race([prove(subject, limit.signal), overtime(limit.signal, signal, timeoutMs)])
    return { ...head(), outcome: 'passed' }
  } catch (error) {
    return { ...head(), outcome: 'failed', reason: reasonOf(error) }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
    end()
  }
}

/** Runs checks one after the other: a driver that is tried shares the process with nothing else. */
export async function runChecks(
  checks: readonly Check[],
  subject: Subject,
  options: RunOptions,
): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = []
  for (const check of checks) {
    const result = await runCheck(check, subject, options)
    options.onResult?.(result)
    results.push(result)
  }
  return results
}

/** What somebody threw, with its code if it has one. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return `${String(error)} was thrown, which is not an Error`
  if (error instanceof Violation) return error.message
  const code = codeOf(error)
  return `${error.name}${code === undefined ? '' : ` ${code}`}: ${error.message}`
}

/** The code of an error. The driver may have a copy of driver-api of its own, so its class says nothing. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** Capabilities that are malformed have their own check; here they declare nothing. */
function isDeclared({ driver }: Subject, need: Need): boolean {
  try {
    return need === 'standalone' ? driver.capabilities.standalone : declares(driver.capabilities, need)
  } catch {
    return false
  }
}

function overtime(limit: AbortSignal, outer: AbortSignal, timeoutMs: number): Promise<never> {
  return new Promise((_resolve, reject) => {
    const end = () => reject(new Violation(outer.aborted ? 'it was stopped' : `it did not end within ${timeoutMs} ms`))
    limit.addEventListener('abort', end, { once: true })
    if (limit.aborted) end()
  })
}
