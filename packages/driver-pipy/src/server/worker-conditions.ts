import type { ProxyCondition } from '@osm-ts/driver-api'

import type { PipyErrorCode } from '../errors.js'

/** What is wrong with a worker, one thing for each code. */
export class WorkerConditions {
  readonly #tell: (conditions: readonly ProxyCondition[]) => void
  readonly #messages = new Map<PipyErrorCode, string>()

  /** @param tell - is given all conditions whenever they change */
  constructor(tell: (conditions: readonly ProxyCondition[]) => void) {
    this.#tell = tell
  }

  /** Sorted by code. */
  get list(): readonly ProxyCondition[] {
    return [...this.#messages].map(([code, message]) => ({ code, message })).sort((a, b) => (a.code < b.code ? -1 : 1))
  }

  /**
   * @param message - undefined: that is not wrong any more
   * @returns true if that was not wrong before
   */
  set(code: PipyErrorCode, message: string | undefined): boolean {
    const before = this.#messages.get(code)
    if (before === message) return false
    if (message === undefined) this.#messages.delete(code)
    else this.#messages.set(code, message)
    this.#tell(this.list)
    return before === undefined
  }
}
