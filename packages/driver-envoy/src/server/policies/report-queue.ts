import { TurnQueue } from '../responses/turn-queue.js'

/** A stream that may have something to report. */
export interface Reporter {
  /** Must not throw. */
  report(): void
}

/** Bounds of a {@link ReportQueue}. */
export interface ReportQueueOptions {
  /** Milliseconds of work in one turn of the event loop. */
  readonly turnMs: number
  /** Milliseconds after which a report is made that was to wait for an answer. */
  readonly lateMs: number
}

/**
 * Reports of streams. A change takes several responses to a proxy, and what it has applied is told to the host with the last answer. A proxy that does not
 * give it is reported on after a while. One timer for all, which runs only while a report waits.
 */
export class ReportQueue {
  readonly #lateMs: number
  readonly #queue: TurnQueue<Reporter>
  readonly #waiting = new Set<Reporter>()
  /** Those that waited already when the timer was started. */
  #late: readonly Reporter[] = []
  #timer: NodeJS.Timeout | undefined

  constructor({ turnMs, lateMs }: ReportQueueOptions) {
    this.#lateMs = lateMs
    this.#queue = new TurnQueue({ work: (reporter) => reporter.report(), turnMs })
  }

  /** Reports in one of the next turns. */
  add(reporter: Reporter): void {
    this.#waiting.delete(reporter)
    this.#queue.add(reporter)
  }

  /** Reports in one of the next turns if {@link addLater} was called and the report was not made yet. */
  addIfLater(reporter: Reporter): void {
    if (this.#waiting.has(reporter)) this.add(reporter)
  }

  /** Reports now if {@link addLater} was called and the report was not made yet. */
  flush(reporter: Reporter): void {
    if (this.#waiting.delete(reporter)) reporter.report()
  }

  /** Reports when {@link add} is called, or after a while. */
  addLater(reporter: Reporter): void {
    this.#waiting.add(reporter)
    this.#timer ??= setInterval(() => this.#look(), this.#lateMs).unref()
  }

  delete(reporter: Reporter): void {
    this.#waiting.delete(reporter)
    this.#queue.delete(reporter)
  }

  #look(): void {
    for (const reporter of this.#late) if (this.#waiting.has(reporter)) this.add(reporter)
    this.#late = [...this.#waiting]
    if (this.#late.length > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
