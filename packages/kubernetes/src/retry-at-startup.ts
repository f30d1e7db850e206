import { isOsmError, type Logger } from '@osm-ts/driver-api'
import { type Clock, pause, type Random } from '@osm-ts/core'
import { backoffMs } from '@osm-ts/driver-api/toolkit'

import { isKubernetesError } from './kubernetes-error.js'

/** What {@link retryAtStartup} needs. */
export interface StartupRetryOptions {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly signal: AbortSignal
}

/** An API server that is away for longer has the program restarted. */
const TIMEOUT_MS = 60_000
const BACKOFF = { firstMs: 500, lastMs: 5000 }

/** True for an error of the API server that may be gone by itself, or by what somebody does elsewhere. */
export function mayPass(error: unknown): boolean {
  if (isKubernetesError(error)) return error.code !== 'OSM_KUBERNETES_INVALID' && error.code !== 'OSM_KUBERNETES_CONFIG'
  // The store of the roots wraps errors of the API server.
  return isOsmError(error, 'OSM_CERT_STORE_IO') && (error.cause === undefined || mayPass(error.cause))
}

/**
 * Does what a program can't start without, again and again for a minute while the API server does not let it.
 *
 * @param step - what it is, for the log
 */
export async function retryAtStartup<T>(
  step: string,
  run: () => Promise<T>,
  { clock, random, logger, signal }: StartupRetryOptions,
): Promise<T> {
  const end = clock.now() + TIMEOUT_MS
  for (let failures = 1; ; failures += 1) {
    try {
      return await run()
    } catch (error) {
      signal.throwIfAborted()
      if (!isOsmError(error) || !mayPass(error) || clock.now() >= end) throw error
      logger.warn({ step, code: error.code, reason: error.message }, 'the API server cannot be asked yet')
      const asked = isKubernetesError(error) ? (error.retryAfterMs ?? 0) : 0
      await pause(clock, Math.max(asked, backoffMs(failures, BACKOFF, random)), signal)
      signal.throwIfAborted()
    }
  }
}
