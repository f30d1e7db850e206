import { type Clock } from '@osm-ts/core'
import { onAbort } from '@osm-ts/driver-api/toolkit'
import { KubernetesError } from './kubernetes-error.js'

/** Time for the API server to accept a watch. */
const OPEN_LIMIT_MS = 60_000
/** Time that a watch may go on beyond the end it was asked for. */
const GRACE_MS = 30_000
/** The API server sends a bookmark a minute. Once it has sent one, silence for longer than two more is a dead connection. */
const SILENCE_LIMIT_MS = 150_000

/**
 * Ends a watch whose connection is dead although neither side has closed it, as after a partition or when a load balancer
 * has forgotten it. TCP alone would take a quarter of an hour to notice, or forever.
 */
export class WatchGuard {
  readonly #clock: Clock
  readonly #controller = new AbortController()
  readonly #letGo: () => void
  readonly #end: number
  #heardAt: number
  #opened = false
  #bookmarks = false
  #cancelTimer: () => void

  constructor(clock: Clock, parent: AbortSignal, timeoutSeconds: number) {
    this.#clock = clock
    this.#heardAt = clock.now()
    this.#end = this.#heardAt + timeoutSeconds * 1_000 + GRACE_MS
    this.#cancelTimer = clock.setTimer(() => this.#check(), OPEN_LIMIT_MS)
    this.#letGo = onAbort(parent, () => this.#controller.abort(parent.reason))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The API server has accepted the watch. */
  get isOpen(): boolean {
    return this.#opened
  }

  /** Something came from the API server. */
  heard(isBookmark: boolean): void {
    this.#opened = true
    this.#bookmarks ||= isBookmark
    this.#heardAt = this.#clock.now()
  }

  release(): void {
    this.#cancelTimer()
    this.#letGo()
  }

  #check(): void {
    const now = this.#clock.now()
    const due = this.#due()
    if (now < due) {
      this.#cancelTimer = this.#clock.setTimer(() => this.#check(), due - now)
      return
    }
    const seconds = Math.round((now - this.#heardAt) / 1_000)
    const message = `the API server has been silent on a watch for ${seconds} s; the connection is taken for dead`
    this.#controller.abort(new KubernetesError('OSM_KUBERNETES_UNREACHABLE', message, { reason: 'WatchSilent' }))
  }

  #due(): number {
    if (!this.#opened) return this.#heardAt + OPEN_LIMIT_MS
    return this.#bookmarks ? Math.min(this.#end, this.#heardAt + SILENCE_LIMIT_MS) : this.#end
  }
}
