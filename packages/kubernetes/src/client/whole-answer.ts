import type { Dispatcher } from 'undici'
import { onAbort } from '@osm-ts/driver-api/toolkit'
import { DeadlineError } from '@osm-ts/core'

import { tooLarge } from './answer-body.js'

/** An answer that was read to its end. */
export interface WholeAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

/** What an answer may take. */
export interface AnswerLimits {
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly maxBytes: number
  /** Names the request in errors. */
  readonly what: string
}

/**
 * Sends a request and collects its answer.
 *
 * Handlers of undici are called with what has arrived; its streams and signals around the same cost several times as much, which is
 * half of what a short request takes.
 *
 * Rejects with the reason of the signal as soon as that aborts.
 */
export function dispatchWhole(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  limits: AnswerLimits,
): Promise<WholeAnswer> {
  return new Promise((resolve, reject) => {
    const collector = new Collector(limits, resolve, reject)
    collector.start()
    dispatcher.dispatch(options, collector)
  })
}

class Collector implements Dispatcher.DispatchHandler {
  readonly #limits: AnswerLimits
  readonly #resolve: (answer: WholeAnswer) => void
  readonly #reject: (error: Error) => void
  readonly #chunks: Buffer[] = []
  #size = 0
  #status = 0
  #headers: WholeAnswer['headers'] = {}
  #controller: Dispatcher.DispatchController | undefined
  #timer: NodeJS.Timeout | undefined
  #letGo: () => void = () => undefined
  #abandonedFor: Error | undefined

  constructor(limits: AnswerLimits, resolve: (answer: WholeAnswer) => void, reject: (error: Error) => void) {
    this.#limits = limits
    this.#resolve = resolve
    this.#reject = reject
  }

  start(): void {
    const { signal, timeoutMs } = this.#limits
    this.#timer = setTimeout(() => this.#abandon(new DeadlineError(timeoutMs)), timeoutMs)
    this.#letGo = onAbort(signal, () => this.#abandon(signal.reason as Error)) // only ever aborted with an error
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // It was given up while it waited for a connection.
    if (this.#abandonedFor !== undefined) controller.abort(this.#abandonedFor)
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { maxBytes, what } = this.#limits
    this.#size += chunk.length
    if (this.#size > maxBytes) this.#abandon(tooLarge(what, maxBytes))
    else this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#release()
    const [only] = this.#chunks
    const body = only !== undefined && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks, this.#size)
    this.#resolve({ status: this.#status, headers: this.#headers, body })
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#release()
    this.#reject(error)
  }

  /** The caller has the reason at once, whatever becomes of the connection. */
  #abandon(reason: Error): void {
    this.#release()
    this.#abandonedFor = reason
    this.#reject(reason)
    this.#controller?.abort(reason)
  }

  #release(): void {
    clearTimeout(this.#timer)
    this.#letGo()
  }
}
