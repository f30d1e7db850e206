import { TOO_LARGE } from './client/answer-body.js'
import { isKubernetesError } from './kubernetes-error.js'

const USUAL = 500
const MOST = 16_000

/** How many objects are requested at once. */
export class PageSize {
  #current = USUAL

  get current(): number {
    return this.#current
  }

  /**
   * Learns from a list that failed. A page that was too large to be accepted calls for smaller ones; a list that grew too
   * old while it was read calls for fewer.
   */
  adapt(error: unknown): void {
    if (!isKubernetesError(error)) return
    if (error.reason === TOO_LARGE) this.#current = Math.max(1, Math.floor(this.#current / 2))
    else if (error.expired) this.#current = Math.min(MOST, this.#current * 4)
  }
}
