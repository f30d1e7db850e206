import { status } from '@grpc/grpc-js'
import type { WorkTally } from '@osm-ts/driver-api/toolkit'

import type { PreparedResponses } from './prepared-responses.js'
import type { Push } from '../state/push.js'
import type { Variant } from './response-frame.js'
import type { OutgoingResponse } from './service-definitions.js'
import { StreamRefusal } from '../stream-refusal.js'
import type { WriteQueue, Writer } from './write-queue.js'
import type { WriteWatch } from './write-watch.js'
import type { XdsMetrics } from '../xds-metrics.js'

/** What all writers of a server share. */
export interface ResponseWriterPorts {
  readonly prepared: PreparedResponses
  readonly writeQueue: WriteQueue
  readonly writes: WriteWatch
  readonly metrics: Pick<XdsMetrics, 'sent' | 'failed'>
}

/** The stream that a writer belongs to. */
export interface ResponseSource {
  readonly variant: Variant
  /** False if it is certain, without looking closer, that {@link next} gives nothing. */
  mayBeDue(): boolean
  /** The response that is to go out now, if any; from then on it counts as sent. */
  next(): Push | undefined
  /** The response has this size and is about to be written. */
  noteSent(push: Push, bytes: number): void
  /** Hands a response to gRPC. Calls back when it has left the process. */
  write(response: OutgoingResponse, done: (error?: Error | null) => void): void
  /**
   * Nothing is due any more.
   *
   * @param sent - something was sent since the last time, and since the last news
   */
  idle(sent: boolean): void
  /** The peer has not read for too long. */
  stuck(): void
  failed(error: unknown): void
}

/** Writes the responses of one stream, one at a time, when it is the stream's turn. */
export class ResponseWriter implements Writer {
  readonly #source: ResponseSource
  readonly #ports: ResponseWriterPorts
  readonly #work: WorkTally
  #askedAt: number | undefined
  #hasSent = false
  #isClosed = false
  /** Ends the write that is under way. */
  #settle: ((error?: Error | null) => void) | undefined

  constructor(source: ResponseSource, ports: ResponseWriterPorts, work: WorkTally) {
    this.#source = source
    this.#ports = ports
    this.#work = work
  }

  /** Something may be due. */
  notify(): void {
    // A write that is under way looks for the next one when it ends.
    if (this.#isClosed || this.#settle !== undefined) return
    if (!this.#source.mayBeDue()) {
      this.#idle()
      return
    }
    this.#askedAt ??= performance.now()
    this.#ports.writeQueue.add(this)
  }

  /** A policy was taken in, and something may be due. */
  notifyNews(): void {
    this.#hasSent = false
    this.notify()
  }

  /** Writes no more, and gives up what is under way. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#ports.writeQueue.delete(this)
    this.#settle?.(new StreamRefusal(status.CANCELLED, 'the stream is over'))
  }

  writeNext(done: () => void): number {
    const asked = this.#askedAt
    this.#askedAt = undefined
    if (this.#isClosed) {
      done()
      return 0
    }
    const entered = performance.now()
    try {
      const push = this.#source.next()
      if (push === undefined) {
        done()
        this.#idle()
        return 0
      }
      this.#work.queued(entered - (asked ?? entered))
      return this.#write(push, entered, done)
    } catch (error) {
      done()
      this.#source.failed(error)
      return 0
    }
  }

  #write(push: Push, entered: number, done: () => void): number {
    const { prepared, writes, metrics } = this.#ports
    const frame = prepared.frame(this.#source.variant, push)
    const bytes = frame.bytes.length
    this.#source.noteSent(push, bytes)
    const encoded = performance.now()
    this.#work.encoded(encoded - entered)
    // A slow peer gives its place to others.
    const watched = writes.begin(done, () => {
      this.#settle?.(new StreamRefusal(status.UNAVAILABLE, 'the proxy does not read'))
      this.#source.stuck()
    })
    const settle = (error?: Error | null): void => {
      if (this.#settle !== settle) return
      this.#settle = undefined
      watched.done()
      done()
      if (error === undefined || error === null) {
        this.#work.sent(performance.now() - encoded, bytes)
        this.#hasSent = true
        metrics.sent(push.type)
        this.notify()
      } else {
        metrics.failed(push.type)
        this.#source.failed(error)
      }
    }
    this.#settle = settle
    try {
      this.#source.write({ frame, nonce: push.nonce }, settle)
    } catch (error) {
      settle(error instanceof Error ? error : new Error(String(error)))
    }
    return bytes
  }

  #idle(): void {
    const sent = this.#hasSent
    this.#hasSent = false
    this.#source.idle(sent)
  }
}
