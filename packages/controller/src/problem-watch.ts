import { type Clock, inTurns, pause, type Problem, type Steps } from '@osm-ts/core'

/** What a {@link ProblemWatch} is made of. */
export interface ProblemWatchOptions {
  /** Finds everything that is wrong with what users wrote. */
  readonly find: () => Steps<readonly Problem[]>
  /** Calls the listener when problems may be others than before. The result ends it. */
  readonly subscribe: (listener: () => void) => () => void
  readonly clock: Clock
}

/** How often it is looked whether anything is new, in milliseconds. */
const LOOK_MS = 1_000
/** How many times longer than the work of a look the pause after it is: in a mesh that never rests problems are found out anew each time. */
const REST = 20

/** Finds out what is wrong in the mesh whenever that may have changed, once for everybody who tells of it: the log, and the statuses of objects. */
export class ProblemWatch {
  readonly #options: ProblemWatchOptions
  readonly #listeners = new Set<() => void>()
  #found: readonly Problem[] | undefined
  #stale = true

  constructor(options: ProblemWatchOptions) {
    this.#options = options
  }

  /** What was found last; undefined before anything was. */
  current(): readonly Problem[] | undefined {
    return this.#found
  }

  /** Calls the listener whenever problems were found out. The result ends it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Resolves once anything was found out, or the signal aborts. */
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

  /** Problems may be others than before. */
  touch(): void {
    this.#stale = true
  }

  /** Looks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { find, subscribe, clock } = this.#options
    const end = subscribe(() => this.touch())
    try {
      while (!signal.aborted) {
        let workedMs = 0
        if (this.#stale) {
          this.#stale = false
          const found = await inTurns(find(), signal, { onTurn: (milliseconds) => (workedMs += milliseconds) })
          if (found === undefined) return
          this.#found = found
          for (const listener of [...this.#listeners]) listener()
        }
        await pause(clock, Math.max(LOOK_MS, workedMs * REST), signal)
      }
    } finally {
      end()
    }
  }
}
