import type { ChildProcess } from 'node:child_process'

/** What the probe in a process is told. */
export type ProbeCommand =
  | { readonly type: 'collect' }
  /** Keeps so much more, to see that somebody notices. */
  | { readonly type: 'keep'; readonly octets: number }

/** What is in use in a process after a forced collection, in bytes. */
export interface HeapReport {
  readonly type: 'heap'
  /** Of objects, and of what they hold outside the heap. */
  readonly heap: number
  readonly external: number
  readonly resident: number
}

/** Talks to the probe that a process was started with, see probe-main.ts. */
export class HeapProbe {
  readonly #child: ChildProcess

  constructor(child: ChildProcess) {
    this.#child = child
  }

  /** Forces collections, and says what is left. */
  async collect(): Promise<HeapReport> {
    return new Promise((resolve, reject) => {
      const end = (): void => reject(new Error('the process has ended'))
      this.#child.once('exit', end)
      this.#child.once('message', (report: HeapReport) => {
        this.#child.off('exit', end)
        resolve(report)
      })
      this.#send({ type: 'collect' })
    })
  }

  keep(octets: number): void {
    this.#send({ type: 'keep', octets })
  }

  #send(command: ProbeCommand): void {
    this.#child.send(command)
  }
}
