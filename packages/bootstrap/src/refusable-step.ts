import { type Clock, pause } from '@osm-ts/core'
import { isKubernetesError, type KubernetesError } from '@osm-ts/kubernetes'
import type { Logger } from '@osm-ts/driver-api'

/** What a {@link RefusableStep} is made of. */
export interface RefusableStepOptions {
  /** Kind of what is written. */
  readonly kind: string
  readonly run: (signal: AbortSignal) => Promise<void>
  readonly clock: Clock
  readonly logger: Logger
  /** Tells users, by an event. */
  readonly report: (reason: string, message: string) => void
}

/** What a user has written is mended by the user, and no one says when. */
const AGAIN_MS = 60_000

/**
 * Writes something that admission may refuse: what a webhook of the mesh finds wrong in it, a user has written, and API
 * servers before 1.28 do not let osm-bootstrap bypass it. That is no reason to leave out all the rest.
 */
export class RefusableStep {
  readonly #options: RefusableStepOptions
  #refused = false

  constructor(options: RefusableStepOptions) {
    this.#options = options
  }

  /**
   * Writes it, or says that it was refused.
   *
   * @throws whatever else goes wrong
   */
  async run(signal: AbortSignal): Promise<void> {
    const { kind, logger, report } = this.#options
    try {
      await this.#options.run(signal)
      this.#refused = false
    } catch (error) {
      if (!isRefusal(error)) throw error
      if (!this.#refused) report(`${kind}Refused`, error.message)
      this.#refused = true
      logger.error({ kind, code: error.code, error: error.message, againMs: AGAIN_MS }, 'going on without a write')
    }
  }

  /** Tries again what was refused, until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const { kind, clock, logger } = this.#options
    for (;;) {
      await pause(clock, AGAIN_MS, signal)
      if (signal.aborted) return
      if (!this.#refused) continue
      await this.run(signal).catch((error: unknown) => {
        logger.warn({ kind, error: String(error) }, 'a write that was refused before has failed')
      })
    }
  }
}

/** Refused because of the content, not because of the writer. */
function isRefusal(error: unknown): error is KubernetesError {
  if (isKubernetesError(error, 'OSM_KUBERNETES_INVALID')) return true
  return isKubernetesError(error, 'OSM_KUBERNETES_FORBIDDEN') && error.forbiddenBy === undefined
}
