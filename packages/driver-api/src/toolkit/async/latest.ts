/**
 * A value that many readers follow, each at its own pace.
 *
 * A reader gets the value in force and then the newest one whenever it asks again: a slow reader skips, it never lags and never makes anyone wait.
 */
export class Latest<T> {
  #version = 0
  #value: { readonly value: T } | undefined
  #closed = false
  readonly #waiters = new Set<() => void>()

  /** @param initial - the value in force, if there is one already */
  constructor(...initial: [] | [T]) {
    if (initial.length === 1) this.set(initial[0])
  }

  /** The value in force, or undefined before the first. */
  get current(): T | undefined {
    return this.#value?.value
  }

  /** Replaces the value in force. Does nothing once it is closed. */
  set(value: T): void {
    if (this.#closed) return
    this.#value = { value }
    this.#version += 1
    this.#wake()
  }

  /** Ends every watch after the value in force has been read. */
  close(): void {
    this.#closed = true
    this.#wake()
  }

  /** Yields the value in force, if any, then each newer one. Ends with the signal or with {@link close}. */
  async *watch(signal: AbortSignal): AsyncGenerator<T, void, undefined> {
    let seen = 0
    let resume: (() => void) | undefined
    // One listener for the whole watch: there are thousands of watches, and some have a news every few milliseconds.
    const wake = (): void => {
      resume?.()
      resume = undefined
    }
    signal.addEventListener('abort', wake, { once: true })
    try {
      while (!signal.aborted) {
        if (this.#value !== undefined && this.#version !== seen) {
          seen = this.#version
          yield this.#value.value
          continue
        }
        if (this.#closed) return
        this.#waiters.add(wake)
        await new Promise<void>((resolve) => {
          resume = resolve
        })
      }
    } finally {
      this.#waiters.delete(wake)
      signal.removeEventListener('abort', wake)
    }
  }

  #wake(): void {
    const waiters = [...this.#waiters]
    this.#waiters.clear()
    for (const wake of waiters) wake()
  }
}
