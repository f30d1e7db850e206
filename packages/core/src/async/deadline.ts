import { onAbort } from '@osm-ts/driver-api/toolkit'

/** Says that something took too long. */
export class DeadlineError extends Error {
  readonly code = 'ETIMEDOUT'

  constructor(limitMs: number) {
    super(`no complete answer within ${limitMs / 1000} s`)
    this.name = 'DeadlineError'
  }
}

/**
 * A signal that aborts with another one and after a time.
 *
 * `AbortSignal.any` would do, but what it makes stays in memory for as long as the other signal lives, and those here
 * live as long as the program.
 */
export class Deadline {
  readonly #controller = new AbortController()
  readonly #timer: NodeJS.Timeout
  readonly #letGo: () => void

  constructor(parent: AbortSignal, limitMs: number) {
    this.#timer = setTimeout(() => this.#controller.abort(new DeadlineError(limitMs)), limitMs)
    this.#letGo = onAbort(parent, () => this.#controller.abort(parent.reason))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Lifts the limit; the signal still follows the other one. */
  lift(): void {
    clearTimeout(this.#timer)
  }

  /** Releases both. */
  release(): void {
    clearTimeout(this.#timer)
    this.#letGo()
  }
}
