import { setTimeout as pause } from 'node:timers/promises'

import type { CallAnswer } from '../actor/protocol.js'
import { expect } from './check.js'

const PARALLEL = 4
const PAUSE_MS = 20
/** So many requests say that some were under way all the time. */
const LEAST_SENT = 20
const SHOWN = 3

/** Who sends requests to whom all the time, and what has to become of every single one. */
export interface LoadOptions {
  readonly from: string
  readonly url: string
  /** `answered`: each has to be, with status 200. `refused`: none may be. */
  readonly outcome: 'answered' | 'refused'
}

/** A load, and how it is sent. */
export interface Sending extends LoadOptions {
  /** Sends one request. Rejects for one that could not even be sent. */
  readonly ask: () => Promise<CallAnswer>
}

/** Does the work while requests are sent. @throws Violation if one request had another outcome than it must have, whatever the work did */
export async function whileSending(loads: readonly Sending[], work: () => Promise<void>): Promise<void> {
  const running = loads.map((options) => new Load(options))
  try {
    await work()
    await Promise.all(running.map((load) => load.untilSent()))
  } finally {
    await Promise.all(running.map((load) => load.stop()))
  }
  for (const load of running) load.expectNone()
}

class Load {
  readonly #options: Sending
  readonly #workers: Promise<void>
  readonly #wrong = new Map<string, number>()
  #isRunning = true
  #sent = 0
  #onSent: () => void = () => undefined

  constructor(options: Sending) {
    this.#options = options
    this.#workers = Promise.all(Array.from({ length: PARALLEL }, () => this.#work())).then(() => undefined)
  }

  /** Resolves when there were enough requests to say something. */
  async untilSent(): Promise<void> {
    if (this.#sent >= LEAST_SENT) return
    await new Promise<void>((resolve) => (this.#onSent = resolve))
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    await this.#workers
  }

  expectNone(): void {
    const { from, url, outcome } = this.#options
    const count = [...this.#wrong.values()].reduce((sum, times) => sum + times, 0)
    const shown = [...this.#wrong].slice(0, SHOWN).map(([what, times]) => `${what} (${times} times)`)
    const fault = outcome === 'answered' ? 'were not answered' : 'were answered, and must not be'
    expect(count === 0, `${count} of ${this.#sent} requests of ${from} for ${url} ${fault}: ${shown.join(', ')}`)
  }

  async #work(): Promise<void> {
    while (this.#isRunning) {
      const { status, error } = await this.#options
        .ask()
        .catch((reason: unknown) => ({ status: 0, error: String(reason) }))
      this.#sent += 1
      if (this.#sent === LEAST_SENT) this.#onSent()
      if ((status === 200) !== (this.#options.outcome === 'answered')) {
        const what = error === undefined ? `status ${status}` : error
        this.#wrong.set(what, (this.#wrong.get(what) ?? 0) + 1)
      }
      await pause(PAUSE_MS)
    }
  }
}
