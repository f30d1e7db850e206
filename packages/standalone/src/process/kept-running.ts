import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '@osm-ts/core'
import { backoffMs, type BackoffLimits } from '@osm-ts/driver-api/toolkit'

import type { Child, ChildExit } from './child.js'

/** How one run of a program ended. */
export interface ProgramEnd {
  /** Absent if it could not be started. */
  readonly exit?: ChildExit
  /** Why it could not be started. */
  readonly error?: unknown
  /** Pause before it is started again; absent if it is not. */
  readonly restartInMs?: number
  /** Runs in a row that were short. */
  readonly failures: number
}

/** What to keep running, and how. */
export interface KeptRunningOptions {
  /** Starts the program; rejects if that fails. */
  readonly start: () => Promise<Child>
  /** Called with each started program. The signal aborts when it has ended; what is returned is waited for then. */
  readonly onStarted: (child: Child, signal: AbortSignal) => Promise<void>
  readonly onEnded: (end: ProgramEnd) => void
  /** Whether to start again; without an exit, the program did not start. */
  readonly restarts: (exit: ChildExit | undefined) => boolean
  /** Bounds of the pause before the next start. A run of at least `steadyMs` starts the count of failures again. */
  readonly limits: BackoffLimits & { readonly steadyMs: number }
  readonly random: Random
}

/** A program that is started again when it ends, with growing pauses, until it is told to end. */
export class KeptRunning {
  readonly #options: KeptRunningOptions
  readonly #ending = new AbortController()
  #child: Child | undefined
  #run: Promise<void> | undefined

  constructor(options: KeptRunningOptions) {
    this.#options = options
  }

  /** The program, while it runs. */
  get child(): Child | undefined {
    return this.#child
  }

  /** Starts it. Resolves when it has ended for good. */
  run(): Promise<void> {
    this.#run ??= this.#loop()
    return this.#run
  }

  /** Ends it, in the way that is given, and does not start it again. */
  async end(how: (child: Child) => Promise<unknown>): Promise<void> {
    this.#ending.abort()
    if (this.#child !== undefined) await how(this.#child)
    await this.#run
  }

  async #loop(): Promise<void> {
    const { onEnded, restarts, limits, random } = this.#options
    let failures = 0
    const ending = this.#ending.signal
    while (!ending.aborted) {
      const began = performance.now()
      const end = await this.#once()
      failures = performance.now() - began >= limits.steadyMs ? 1 : failures + 1
      if (isAborted(ending) || !restarts(end.exit)) {
        onEnded({ ...end, failures })
        return
      }
      const pauseMs = backoffMs(failures, limits, random)
      onEnded({ ...end, failures, restartInMs: pauseMs })
      // Rejects when the program is to end; the loop then ends by its condition.
      await pause(pauseMs, undefined, { signal: ending }).catch(() => undefined)
    }
  }

  async #once(): Promise<Pick<ProgramEnd, 'exit' | 'error'>> {
    let child: Child
    try {
      child = await this.#options.start()
    } catch (error) {
      return { error }
    }
    // Told to end while it was being started: no one has seen it yet.
    if (this.#ending.signal.aborted) child.signal('SIGKILL')
    this.#child = child
    const running = new AbortController()
    const watching = this.#options.onStarted(child, running.signal)
    const exit = await child.exited
    this.#child = undefined
    running.abort()
    await watching
    return { exit }
  }
}

/** Whether a signal is aborted by now. A call, since the compiler takes a property that it has seen once for what it was then. */
export function isAborted(signal: AbortSignal): boolean {
  return signal.aborted
}
