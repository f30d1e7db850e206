import { type Clock, inTurns, pause, type Problem, type Steps } from '@osm-ts/core'
import { Listeners } from '@osm-ts/driver-api/toolkit'

/** What a {@link ProblemWatch} is made of. */
export interface ProblemWatchOptions {
  /** Finds everything that is wrong with what users wrote. */
  readonly find: () => Steps<readonly Problem[]>
  /** Calls the listener when problems may have changed. The result ends it. */
  readonly subscribe: (listener: () => void) => () => void
  readonly clock: Clock
  /** True while there is more urgent work. The first search waits for its end, but no longer than ten seconds. */
  readonly busy: () => boolean
}

/** Interval between two checks for changes, in milliseconds. */
const LOOK_MS = 1_000
/** Interval between two checks of whether the first search may begin, and how many of them are made. */
const FIRST_LOOK_MS = 20
const FIRST_LOOKS = 500
/** Ratio of the pause after a search to the time of the search. It bounds the load of a mesh that changes all the time. */
const REST = 20

/** Finds the problems of a mesh after each change. The log and the statuses of objects share the result. */
export class ProblemWatch {
  readonly #options: ProblemWatchOptions
  readonly #listeners = new Listeners()
  #found: readonly Problem[] | undefined
  #stale = true

  constructor(options: ProblemWatchOptions) {
    this.#options = options
  }

  /** The problems of the last search; undefined before the first one. */
  current(): readonly Problem[] | undefined {
    return this.#found
  }

  /** Calls the listener after each search. The result ends it. */
  subscribe(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }

  /** Resolves after the first search, or when the signal aborts. */
  async found(signal: AbortSignal): Promise<void> {
    if (this.#found !== undefined || signal.aborted) return
    await new Promise<void>((resolve) => {
      const done = (): void => {
        end()
        signal.removeEventListener('abort', done)
        resolve()
      }
      const end = this.subscribe(done)
      signal.addEventListener('abort', done)
    })
  }

  /** Signals that the problems of the last search may be stale. */
  touch(): void {
    this.#stale = true
  }

  /** Searches until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { find, subscribe, clock, busy } = this.#options
    const end = subscribe(() => this.touch())
    try {
      for (let look = 0; look < FIRST_LOOKS && busy() && !signal.aborted; look += 1)
        await pause(clock, FIRST_LOOK_MS, signal)
      while (!signal.aborted) {
        let workedMs = 0
        if (this.#stale) {
          this.#stale = false
          const found = await inTurns(find(), signal, { onTurn: (milliseconds) => (workedMs += milliseconds) })
          if (found === undefined) return
          this.#found = found
          this.#listeners.notify()
        }
        await pause(clock, Math.max(LOOK_MS, workedMs * REST), signal)
      }
    } finally {
      end()
    }
  }
}
