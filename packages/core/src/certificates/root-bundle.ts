import { X509Certificate } from 'node:crypto'

import type { Clock } from './clock.js'

/** A day, in which all parts of the mesh have taken up a new root or were restarted. */
const REPLACED_ROOT_MS = 86_400_000
/** More than one after the other in a day would be a mistake, and peers have to read them for each connection. */
const MAX_REPLACED = 3

/**
 * Roots to be trusted while they may be replaced.
 *
 * Not everybody takes up a new root at the same time, and what the old one has signed is in use for a while. So a root
 * that was replaced stays trusted beside the new one, and then falls away.
 */
export class RootBundle {
  readonly #clock: Clock
  readonly #keepMs: number
  #current: readonly string[] = []
  #replaced: readonly string[] = []
  #since = 0

  /** @param keepMs - how long a replaced root stays trusted; a day if absent */
  constructor(clock: Clock, keepMs: number = REPLACED_ROOT_MS) {
    this.#clock = clock
    this.#keepMs = keepMs
  }

  /** Since when the current roots are trusted, in milliseconds since 1970. */
  get since(): number {
    return this.#since
  }

  /** Takes up the roots that sign now. */
  set(roots: readonly string[]): void {
    const now = this.#clock.now()
    if (roots.join('') === this.#current.join('')) return
    this.#replaced = [...this.#current, ...this.#stillTrusted()]
    this.#current = roots
    this.#since = now
  }

  /**
   * Goes on from what the API server trusts already, such as after a restart: the Secret may have been replaced since.
   *
   * @param trusted - in the order of {@link roots}
   * @param since - when the first of them was taken up, if that is known
   */
  resume(trusted: readonly string[], since: number | undefined): void {
    this.#replaced = trusted
    if (trusted[0] === this.#current[0] && since !== undefined) this.#since = Math.min(since, this.#since)
  }

  /** PEM of each that is trusted now, those that sign first. */
  roots(): readonly string[] {
    return [...this.#current, ...this.#stillTrusted()]
  }

  /** When the replaced roots fall away, in milliseconds since 1970. */
  nextChange(): number | undefined {
    return this.#stillTrusted().length === 0 ? undefined : this.#since + this.#keepMs
  }

  #stillTrusted(): readonly string[] {
    const now = this.#clock.now()
    if (now >= this.#since + this.#keepMs) return []
    const kept = [...new Set(this.#replaced)].filter((pem) => !this.#current.includes(pem) && isValid(pem, now))
    return kept.slice(0, MAX_REPLACED)
  }
}

function isValid(pem: string, now: number): boolean {
  return Date.parse(new X509Certificate(pem).validTo) > now
}
