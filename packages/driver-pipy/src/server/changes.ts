/** Lets several wait for the next change. */
export class Changes {
  readonly #waiting = new Set<() => void>()

  /** Something has changed: everybody continues. */
  announce(): void {
    for (const resume of [...this.#waiting]) resume()
  }

  /** Resolves with the next change, or when the signal aborts. */
  async next(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    await new Promise<void>((resolve) => {
      const done = () => {
        this.#waiting.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#waiting.add(done)
      signal.addEventListener('abort', done, { once: true })
    })
  }
}
