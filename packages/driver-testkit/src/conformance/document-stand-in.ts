import { setTimeout as delay } from 'node:timers/promises'

import type { Judge, StandIn, StandInOptions, StandInSession } from './stand-in.js'

/** A document as it was offered to a proxy. */
export interface OfferedDocument {
  readonly revision: string
  /** See {@link StandInSession.configuration}. */
  readonly configuration: string
  /** See {@link StandInSession.credentials}. */
  readonly credentials: string
}

/** What a proxy says of the document that it was offered last and did not take. */
export interface RefusedDocument {
  readonly revision: string
  readonly words: string
}

/** The protocol of a driver whose proxies request one document that says everything. */
export interface DocumentPolls {
  /**
   * Asks once. What it rejects with counts as a control plane that can't be reached at the moment, and is tried again.
   *
   * @param has - revision in force, empty if none is
   * @returns undefined if there is nothing new; `gone` if the control plane will have nothing to do with this proxy any more
   */
  poll(has: string, refused: RefusedDocument | undefined): Promise<OfferedDocument | undefined | 'gone'>
  /** Ends what runs: a poll that waits rejects. */
  close(): void
}

/** Milliseconds before a poll that failed is tried again. */
const RETRY_MS = 20

/** What speaks for proxies that request documents: a poll at a time, as long as it is not told to go. */
export function documentStandIn(open: (options: StandInOptions) => DocumentPolls): StandIn {
  return { connect: async (options, judge) => new DocumentSession(open(options), judge, options.signal) }
}

class DocumentSession implements StandInSession {
  configuration = ''
  credentials = ''
  messages = 0
  readonly ended: Promise<void>
  readonly #polls: DocumentPolls
  readonly #judge: Judge
  readonly #over = new AbortController()
  readonly #closed: Promise<void>
  #has = ''

  constructor(polls: DocumentPolls, judge: Judge, signal: AbortSignal) {
    this.#polls = polls
    this.#judge = judge
    const run = this.#run()
    this.ended = run
    this.#closed = run
    signal.addEventListener('abort', () => this.#end(), { once: true })
  }

  async close(): Promise<void> {
    this.#end()
    await this.#closed
  }

  #end(): void {
    this.#over.abort()
    this.#polls.close()
  }

  async #run(): Promise<void> {
    let refused: RefusedDocument | undefined
    while (!this.#over.signal.aborted) {
      try {
        const offered = await this.#polls.poll(this.#has, refused)
        refused = undefined
        if (offered === 'gone') return
        if (offered !== undefined) refused = this.#take(offered)
      } catch {
        await delay(RETRY_MS)
      }
    }
  }

  #take({ revision, configuration, credentials }: OfferedDocument): RefusedDocument | undefined {
    if (configuration !== this.configuration || this.messages === 0) this.messages += 1
    const words = this.#judge(configuration)
    if (words !== undefined) return { revision, words }
    this.#has = revision
    this.configuration = configuration
    this.credentials += credentials
    return undefined
  }
}
