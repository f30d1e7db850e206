import { setTimeout as sleep } from 'node:timers/promises'

import type { ProxyStatus } from '@osm-ts/core'

import { hasApplied } from './convergence.js'

/** How often is looked. */
const lookMs = 50

/**
 * Resolves when every proxy has had the same configuration applied for a while, or when the time is up. When a workload becomes ready its callers hear
 * of its address a moment later: only then is the mesh at rest.
 */
export async function untilQuiet(
  statuses: () => readonly ProxyStatus[],
  { quietMs, limitMs, now, signal }: { quietMs: number; limitMs: number; now: () => number; signal: AbortSignal },
): Promise<void> {
  const start = now()
  let since = start
  let before = ''
  while (!signal.aborted && now() - start < limitMs && now() - since < quietMs) {
    const current = statuses()
    const text = JSON.stringify(current.map(({ uuid, state, appliedVersion }) => [uuid, state, appliedVersion]))
    if (text !== before || !current.every(hasApplied)) since = now()
    before = text
    // Rejects when the signal aborts; the loop then ends by its condition.
    await sleep(lookMs, undefined, { signal }).catch(() => undefined)
  }
}
