import type { Clock } from '../../src/certificates/clock.js'

/** Time that passes when the test says so. */
export class FakeClock implements Clock {
  #now = Date.parse('2026-11-21T10:00:00Z')
  readonly #timers = new Map<object, { readonly at: number; readonly callback: () => void }>()
  started = 0

  now(): number {
    return this.#now
  }

  setTimer(callback: () => void, delayMs: number): () => void {
    const key = {}
    this.started += 1
    this.#timers.set(key, { at: this.#now + delayMs, callback })
    return () => this.#timers.delete(key)
  }

  get pending(): number {
    return this.#timers.size
  }

  /** Lets all timers of that time run, each at its own moment, and what they set off. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds
    for (;;) {
      await settled()
      const [next] = [...this.#timers].sort(([, a], [, b]) => a.at - b.at)
      if (next === undefined || next[1].at > end) break
      this.#timers.delete(next[0])
      this.#now = Math.max(this.#now, next[1].at)
      next[1].callback()
    }
    this.#now = end
    await settled()
  }
}

/** Whatever can continue without time passing has gone on. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
