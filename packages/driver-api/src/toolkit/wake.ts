/** Lets one waiter sleep until there is something to do. Any number of calls while it is busy wake it once. */
export class Wake {
  #pending = false
  #resume: (() => void) | undefined
  /** The signal that {@link #wakeUp} listens to. A waiter nearly always waits with the same one, and asks it once. */
  #signal: AbortSignal | undefined
  readonly #wakeUp = (): void => {
    const resume = this.#resume
    this.#resume = undefined
    resume?.()
  }

  /** Wakes the waiter, or the next one if there is none. */
  notify(): void {
    this.#pending = true
    this.#wakeUp()
  }

  /**
   * Waits until there is something to do.
   *
   * @returns false if the signal aborted
   */
  async wait(signal: AbortSignal): Promise<boolean> {
    if (!this.#pending && !signal.aborted) {
      this.#listenTo(signal)
      await new Promise<void>((resolve) => {
        this.#resume = resolve
      })
    }
    this.#pending = false
    return !signal.aborted
  }

  #listenTo(signal: AbortSignal): void {
    if (this.#signal === signal) return
    this.#signal?.removeEventListener('abort', this.#wakeUp)
    this.#signal = signal
    signal.addEventListener('abort', this.#wakeUp, { once: true })
  }
}
