interface Waiter {
  enter(): void
  refuse(reason: unknown): void
}

/** Lets a bounded number of tasks run at a time, and a bounded number wait, in order of arrival. */
export class Gate {
  readonly #limit: number
  readonly #maxWaiting: number
  readonly #waiting: Waiter[] = []
  #running = 0

  constructor(limit: number, maxWaiting: number) {
    this.#limit = limit
    this.#maxWaiting = maxWaiting
  }

  /**
   * Runs the task when its turn comes.
   *
   * @param refusal - makes the error for a task that finds too many waiting
   */
  async run<T>(task: () => Promise<T>, signal: AbortSignal, refusal: () => Error): Promise<T> {
    signal.throwIfAborted()
    if (this.#running < this.#limit) this.#running += 1
    else if (this.#waiting.length >= this.#maxWaiting) throw refusal()
    else await this.#turn(signal)
    try {
      return await task()
    } finally {
      this.#leave()
    }
  }

  /** Whoever leaves passes its place on, so the count stays as it is. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#running -= 1
    else next.enter()
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1)
        waiter.refuse(signal.reason)
      }
      const waiter: Waiter = {
        enter: () => {
          signal.removeEventListener('abort', abort)
          resolve()
        },
        refuse: reject,
      }
      signal.addEventListener('abort', abort, { once: true })
      this.#waiting.push(waiter)
    })
  }
}
