import { type Clock, pause, type Random } from '@osm-ts/core'
import { isKubernetesError, mayPass } from '@osm-ts/kubernetes'
import { isOsmError, type Logger } from '@osm-ts/driver-api'
import { backoffMs, errorMessage } from '@osm-ts/driver-api/toolkit'

import type { BootstrapErrorCode } from './error-codes.js'

/** What {@link persist} needs. */
export interface RetryOptions {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** Tells users, by an event. */
  readonly report: (reason: string, message: string) => void
  readonly signal: AbortSignal
}

const BACKOFF = { firstMs: 200, lastMs: 15_000 }

const waitingCodes: ReadonlySet<string> = new Set<BootstrapErrorCode>([
  'OSM_BOOTSTRAP_PRESET_MISSING',
  'OSM_BOOTSTRAP_CRD_PENDING',
  'OSM_BOOTSTRAP_TERMINATING',
  'OSM_BOOTSTRAP_CONTESTED',
])

/**
 * Does something until it succeeds. The API server may be away for minutes, a role may come later than the program that
 * needs it, and others may write at the same time: none of that is a reason to give up. What no waiting can mend is thrown.
 */
export async function persist<T>(
  step: string,
  run: (signal: AbortSignal) => Promise<T>,
  { clock, random, logger, report, signal }: RetryOptions,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    signal.throwIfAborted()
    try {
      return await run(signal)
    } catch (error) {
      signal.throwIfAborted()
      if (!canPass(error)) throw error
      const message = errorMessage(error)
      logger.warn(
        { step, error: message, ...(isOsmError(error) && { code: error.code }), failures },
        'a step failed; trying again',
      )
      report('BootstrapWaiting', `${step}: ${message}`)
      const asked = isKubernetesError(error) ? (error.retryAfterMs ?? 0) : 0
      await pause(clock, Math.max(asked, backoffMs(failures, BACKOFF, random)), signal)
    }
  }
}

/** True for an error that may be gone by itself, or by what somebody does elsewhere. */
function canPass(error: unknown): boolean {
  return mayPass(error) || (isOsmError(error) && waitingCodes.has(error.code))
}
