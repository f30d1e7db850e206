/** Gives a place back. May be called more than once. */
export type Release = () => void

/** Bounds how many streams are written to at the same moment; the others wait in the order in which they came. */
export class WriteSemaphore {
  readonly #places: number
  readonly #waiting = new Set<() => void>()
  #taken = 0

  constructor(places: number) {
    this.#places = places
  }

  /** A place, if one is free now. */
  tryAcquire(): Release | undefined {
    return this.#taken < this.#places ? this.#take() : undefined
  }

  /** Waits for a place. Undefined if the signal aborts first. */
  async acquire(signal: AbortSignal): Promise<Release | undefined> {
    if (signal.aborted) return undefined
    const place = this.tryAcquire()
    if (place !== undefined) return place
    return new Promise((resolve) => {
      const enter = () => {
        signal.removeEventListener('abort', leave)
        resolve(this.#take())
      }
      const leave = () => {
        this.#waiting.delete(enter)
        resolve(undefined)
      }
      this.#waiting.add(enter)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  #take(): Release {
    this.#taken += 1
    let held = true
    return () => {
      if (!held) return
      held = false
      this.#taken -= 1
      const [next] = this.#waiting
      if (next === undefined) return
      this.#waiting.delete(next)
      next()
    }
  }
}
