import { type Clock, type Random } from '@osm-ts/core'
import { type BackoffLimits, backoffMs, onAbort } from '@osm-ts/driver-api/toolkit'
import { isKubernetesError, KubernetesError } from './kubernetes-error.js'

/** What a {@link WorkQueue} is made of. */
export interface WorkQueueOptions {
  /** Brings what the key names in order. Throwing means: try again later. */
  readonly handle: (key: string, signal: AbortSignal) => Promise<void>
  /** Keys handled at one time. */
  readonly concurrency: number
  readonly clock: Clock
  readonly random: Random
  /** Told of every failure, with the number of failures in a row, and of a key that was not taken. */
  readonly onFault: (key: string, error: unknown, failures: number) => void
  /** Keys held at most. */
  readonly capacity?: number
  readonly backoff?: BackoffLimits
}

const CAPACITY = 100_000
const BACKOFF = { firstMs: 200, lastMs: 60_000 }

/**
 * Keys that are to be handled, each once however often it was added.
 *
 * A key is never handled twice at one time: added while it is handled, it is handled again afterwards. A key whose
 * handler fails comes again after a delay that grows with its failures; adding it again does not wait for that.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions
  readonly #capacity: number
  readonly #ready = new Set<string>()
  readonly #active = new Set<string>()
  /** Added while active. */
  readonly #again = new Set<string>()
  readonly #delayed = new Map<string, { readonly at: number; readonly cancel: () => void }>()
  readonly #failures = new Map<string, number>()
  #wake: () => void = () => undefined

  constructor(options: WorkQueueOptions) {
    if (!Number.isInteger(options.concurrency) || options.concurrency < 1) {
      throw new RangeError(`concurrency must be a positive integer, not ${options.concurrency}`)
    }
    this.#options = options
    this.#capacity = options.capacity ?? CAPACITY
  }

  /** Keys that wait or are handled. */
  get size(): number {
    return new Set([...this.#ready, ...this.#active, ...this.#delayed.keys()]).size
  }

  /** Has the key handled soon. */
  add(key: string): void {
    this.#delayed.get(key)?.cancel()
    this.#delayed.delete(key)
    if (this.#active.has(key)) {
      this.#again.add(key)
      return
    }
    if (!this.#ready.has(key) && this.#isFull(key)) return
    this.#ready.add(key)
    this.#wake()
  }

  /** Has the key handled after a while; sooner if it was to come sooner already. */
  addAfter(key: string, delayMs: number): void {
    if (delayMs <= 0) {
      this.add(key)
      return
    }
    if (this.#ready.has(key) || this.#again.has(key)) return
    const at = this.#options.clock.now() + delayMs
    const waiting = this.#delayed.get(key)
    if (waiting !== undefined && waiting.at <= at) return
    if (waiting === undefined && this.#isFull(key)) return
    waiting?.cancel()
    const cancel = this.#options.clock.setTimer(() => {
      this.#delayed.delete(key)
      this.add(key)
    }, delayMs)
    this.#delayed.set(key, { at, cancel })
  }

  /** Handles keys until the signal aborts; resolves when the last handler has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const running = new Set<Promise<void>>()
    const letGo = onAbort(signal, () => this.#wake())
    try {
      while (!signal.aborted) {
        const key = running.size < this.#options.concurrency ? this.#take() : undefined
        if (key === undefined) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve
          })
          continue
        }
        const done: Promise<void> = this.#handle(key, signal).finally(() => {
          running.delete(done)
          this.#wake()
        })
        running.add(done)
      }
    } finally {
      letGo()
      for (const { cancel } of this.#delayed.values()) cancel()
      this.#delayed.clear()
      await Promise.all(running)
    }
  }

  #take(): string | undefined {
    for (const key of this.#ready) {
      this.#ready.delete(key)
      return key
    }
    return undefined
  }

  async #handle(key: string, signal: AbortSignal): Promise<void> {
    this.#active.add(key)
    let delayMs: number | undefined
    try {
      await this.#options.handle(key, signal)
      this.#failures.delete(key)
    } catch (error) {
      delayMs = signal.aborted ? undefined : this.#failed(key, error)
    }
    this.#active.delete(key)
    if (this.#again.delete(key)) this.add(key)
    else if (delayMs !== undefined) this.addAfter(key, delayMs)
  }

  /** How long the key has to wait. */
  #failed(key: string, error: unknown): number {
    const failures = (this.#failures.get(key) ?? 0) + 1
    this.#failures.set(key, failures)
    this.#options.onFault(key, error, failures)
    const asked = isKubernetesError(error) ? (error.retryAfterMs ?? 0) : 0
    return Math.max(asked, backoffMs(failures, this.#options.backoff ?? BACKOFF, this.#options.random))
  }

  #isFull(key: string): boolean {
    if (this.#ready.size + this.#active.size + this.#delayed.size < this.#capacity) return false
    const message = `the work queue holds ${this.#capacity} keys already`
    this.#options.onFault(key, new KubernetesError('OSM_KUBERNETES_QUEUE_FULL', message), 0)
    return true
  }
}
