interface Waiter {
  enter(): void
  refuse(reason: Error): void
}

/** Lets a bounded number of tasks run at a time, and a bounded number wait, in order of arrival. */
export class Semaphore {
  readonly #limit: number
  readonly #maxWaiting: number
  readonly #waiting: Waiter[] = []
  #running = 0
  #closedBy: Error | undefined

  constructor(limit: number, maxWaiting: number) {
    this.#limit = limit
    this.#maxWaiting = maxWaiting
  }

  /**
   * Runs the task when its turn comes.
   *
   * @param overflow - makes the error for a task that finds too many waiting
   */
  async run<T>(task: () => Promise<T>, overflow: () => Error): Promise<T> {
    if (this.#closedBy !== undefined) throw this.#closedBy
    if (this.#running < this.#limit) this.#running += 1
    else if (this.#waiting.length >= this.#maxWaiting) throw overflow()
    else await new Promise<void>((enter, refuse) => this.#waiting.push({ enter, refuse }))
    try {
      return await task()
    } finally {
      this.#leave()
    }
  }

  /** Refuses those that wait and those still to come. What runs continues. */
  close(reason: Error): void {
    this.#closedBy ??= reason
    for (const waiter of this.#waiting.splice(0)) waiter.refuse(reason)
  }

  /** Anyone who leaves passes its place on, so the count stays as it is. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#running -= 1
    else next.enter()
  }
}
