import type { ApplyReport } from '../apply-state.js'

/** Adds up what a driver does for one proxy between two reports, and attaches the sum to the next report. */
export class WorkTally {
  #queueMs = 0
  #translateMs = 0
  #encodeMs = 0
  #sendMs = 0
  #bytes = 0

  /** Work has waited for its turn. */
  queued(ms: number): void {
    this.#queueMs += ms
  }

  /** A policy was turned into configuration. */
  translated(ms: number): void {
    this.#translateMs += ms
  }

  /** Bytes were put together. */
  encoded(ms: number): void {
    this.#encodeMs += ms
  }

  /** Bytes have left the process. */
  sent(ms: number, bytes: number): void {
    this.#sendMs += ms
    this.#bytes += bytes
  }

  /** The report with what was done since the last one; the tally then starts from zero. */
  on(report: ApplyReport): ApplyReport {
    if (this.#queueMs + this.#translateMs + this.#encodeMs + this.#sendMs + this.#bytes === 0) return report
    const work = {
      queueMs: this.#queueMs,
      translateMs: this.#translateMs,
      encodeMs: this.#encodeMs,
      sendMs: this.#sendMs,
      bytes: this.#bytes,
    }
    this.#queueMs = 0
    this.#translateMs = 0
    this.#encodeMs = 0
    this.#sendMs = 0
    this.#bytes = 0
    return { ...report, work }
  }
}
