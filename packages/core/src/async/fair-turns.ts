import { setImmediate as nextTurn } from 'node:timers/promises'

import type { Steps } from '@osm-ts/driver-api/toolkit'

/** How {@link FairTurns} divides time. */
export interface FairTurnsOptions {
  /** Milliseconds of work before the event loop has its turn. */
  readonly turnMs?: number
  /** Milliseconds that one piece of work has before the next one has its turn. */
  readonly sliceMs?: number
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number
  /** Milliseconds of processor time that were used; those of `now` if only that is given. */
  readonly processorMs?: () => number
}

/** What a piece of work may take. */
export interface WorkBounds {
  /** Milliseconds of work: of processor time, so that a busy machine makes no work larger. */
  readonly workMs: number
  /** Milliseconds until it has to be done, waiting included. */
  readonly timeoutMs: number
}

/** Work that was given up. */
export class WorkGivenUp extends Error {
  /** `work`: it is too much itself. `time`: it did not come to an end in time, for all the others. */
  readonly because: 'work' | 'time'

  constructor(because: 'work' | 'time') {
    super(because === 'work' ? 'the work exceeds its bound' : 'the work was not done in time')
    this.because = because
  }
}

interface Job {
  readonly steps: Steps<unknown>
  readonly bounds: WorkBounds
  readonly due: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  worked: number
}

/**
 * Does the work of many askers in turns of the event loop, in slices: that which had least comes next. No large piece of work keeps a small one waiting, and
 * all of them together keep no one else waiting for longer than one turn and one step.
 */
export class FairTurns {
  readonly #turnMs: number
  readonly #sliceMs: number
  readonly #now: () => number
  readonly #processorMs: () => number
  readonly #jobs: Job[] = []
  #working = false

  constructor({ turnMs = 10, sliceMs = 2, now, processorMs = now ?? processorTimeMs }: FairTurnsOptions = {}) {
    this.#turnMs = turnMs
    this.#sliceMs = sliceMs
    this.#now = now ?? (() => performance.now())
    this.#processorMs = processorMs
  }

  /**
   * Does the work.
   *
   * @throws WorkGivenUp if it exceeds its bounds; what a step throws
   */
  run<T>(steps: Steps<T>, bounds: WorkBounds): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#jobs.push({
        steps,
        bounds,
        due: this.#now() + bounds.timeoutMs,
        // The value is what these steps return.
        resolve: (value) => resolve(value as T),
        reject,
        worked: 0,
      })
      if (!this.#working) void this.#work()
    })
  }

  async #work(): Promise<void> {
    this.#working = true
    while (this.#jobs.length > 0) {
      await nextTurn()
      const start = this.#now()
      do {
        const job = this.#next()
        if (job === undefined) break
        if (!this.#slice(job)) this.#jobs.push(job)
      } while (this.#now() - start < this.#turnMs)
    }
    this.#working = false
  }

  /** The job that had the least work, of those the one that waits longest: steps differ in length, so that a rotation would favour long ones. */
  #next(): Job | undefined {
    let least = 0
    for (const [index, { worked }] of this.#jobs.entries())
      if (worked < (this.#jobs[least]?.worked ?? Infinity)) least = index
    return this.#jobs.splice(least, 1)[0]
  }

  /** True if the job has ended. */
  #slice(job: Job): boolean {
    const { steps, bounds, due, resolve, reject } = job
    const start = this.#now()
    // Asking for it is a call of the system, which costs more than many a step.
    const used = bounds.workMs === Infinity ? undefined : this.#processorMs()
    try {
      if (start > due) throw new WorkGivenUp('time')
      let end: number
      do {
        const step = steps.next()
        if (step.done === true) {
          resolve(step.value)
          return true
        }
        end = this.#now()
      } while (end - start < this.#sliceMs)
      // Other threads of the process work as well, and are never a reason to refuse.
      job.worked += used === undefined ? end - start : Math.min(end - start, this.#processorMs() - used)
      if (job.worked > bounds.workMs) throw new WorkGivenUp('work')
      return false
    } catch (error) {
      reject(error)
      return true
    }
  }
}

function processorTimeMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
