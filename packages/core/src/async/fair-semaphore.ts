import { FairQueue } from '@osm-ts/driver-api/toolkit'

/** How a {@link FairSemaphore} lets work continue. */
export interface FairSemaphoreOptions {
  /** Holders at a time. */
  readonly permits: number
  /** A holder that takes longer continues, but others no longer wait for it. Milliseconds. */
  readonly holdMs: number
}

/** Ends a hold; further calls do nothing. */
export type ReleasePermit = () => void

/** Bounds how many hold a permit at a time. Askers take turns by their key, however many of one key wait. */
export class FairSemaphore {
  readonly #options: FairSemaphoreOptions
  readonly #waiting = new FairQueue<() => void>(Infinity)
  #held = 0

  constructor(options: FairSemaphoreOptions) {
    this.#options = options
  }

  /** Waits for a permit. Its holder releases it, also after a failure. */
  async acquire(key: string): Promise<ReleasePermit> {
    if (this.#held >= this.#options.permits)
      await new Promise<void>((resolve) => {
        this.#waiting.add(key, resolve)
      })
    // Anyone who was waiting takes over the permit of the one who released it.
    else this.#held += 1
    return this.#hold()
  }

  #hold(): ReleasePermit {
    let isHeld = true
    const release = (): void => {
      if (!isHeld) return
      isHeld = false
      clearTimeout(timer)
      this.#handOn()
    }
    const timer = setTimeout(release, this.#options.holdMs)
    timer.unref()
    return release
  }

  #handOn(): void {
    const next = this.#waiting.take(() => true)
    if (next === undefined) this.#held -= 1
    else next()
  }
}
