import { setTimeout as pause } from 'node:timers/promises'

import type { Problem } from '@osm-ts/core'
import { Deadline } from '@osm-ts/core'
import { isRecord } from '@osm-ts/driver-api/toolkit'

const PERIOD_MS = 2000
const TIMEOUT_MS = 1500

/**
 * Asks the controller again and again what is wrong with the policies of the mesh, which it alone computes.
 *
 * @param url - of its debug server; undefined while it does not run
 */
export async function followControllerProblems(
  url: () => string | undefined,
  onProblems: (problems: readonly Problem[]) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const at = url()
    const problems = at === undefined ? undefined : await ask(at, signal)
    // While it can't be asked, what it said last is the best that is known.
    if (problems !== undefined) onProblems(problems)
    await pause(PERIOD_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function ask(url: string, signal: AbortSignal): Promise<readonly Problem[] | undefined> {
  const limit = new Deadline(signal, TIMEOUT_MS)
  try {
    const response = await fetch(`${url}/debug/problems`, { signal: limit.signal })
    const body: unknown = await response.json()
    return isRecord(body) && Array.isArray(body.problems) ? body.problems.filter(isProblem) : undefined
  } catch {
    return undefined
  } finally {
    limit.release()
  }
}

function isProblem(value: unknown): value is Problem {
  return (
    isRecord(value) &&
    typeof value.code === 'string' &&
    typeof value.message === 'string' &&
    (value.severity === 'error' || value.severity === 'warning')
  )
}
