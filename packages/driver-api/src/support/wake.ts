/** Lets one waiter sleep until there is something to do. Any number of calls while it is busy wake it once. */
export class Wake {
  #pending = false
  #resume: (() => void) | undefined

  /** Wakes the waiter, or the next one if there is none. */
  notify(): void {
    this.#pending = true
    this.#resume?.()
  }

  /**
   * Waits until there is something to do.
   *
   * @returns false if the signal aborted
   */
  async wait(signal: AbortSignal): Promise<boolean> {
    if (!this.#pending && !signal.aborted)
      await new Promise<void>((resolve) => {
        const done = () => {
          signal.removeEventListener('abort', done)
          this.#resume = undefined
          resolve()
        }
        this.#resume = done
        signal.addEventListener('abort', done, { once: true })
      })
    this.#pending = false
    return !signal.aborted
  }
}
