import type { XdsType } from '../xds-types.js'
import { pushOrder } from '../xds-types.js'

/** As many responses as a debug page shows of a proxy and type. */
const MAX_RECORDS = 20

/** What became of a response. */
export type PushOutcome = 'pending' | 'ack' | 'nack'

/** One response, without its content. */
export interface PushRecord {
  /** Milliseconds since the epoch. */
  readonly sentAt: number
  readonly version: string
  readonly nonce: string
  readonly resources: number
  readonly removed: number
  readonly bytes: number
  outcome: PushOutcome
}

type ShownPush = Omit<PushRecord, 'sentAt'> & { readonly sentAt: string }

/** The last responses of a stream. */
export class PushHistory {
  readonly #records = new Map<XdsType, PushRecord[]>()

  /** @param record - kept, and told what became of it */
  add(type: XdsType, record: PushRecord): void {
    const records = this.#records.get(type)
    if (records === undefined) {
      this.#records.set(type, [record])
      return
    }
    records.push(record)
    if (records.length > MAX_RECORDS) records.shift()
  }

  /** @returns the record that was answered */
  settle(type: XdsType, nonce: string, outcome: 'ack' | 'nack'): PushRecord | undefined {
    const record = this.#records.get(type)?.findLast((candidate) => candidate.nonce === nonce)
    if (record !== undefined) record.outcome = outcome
    return record
  }

  /** As a debug page shows them, with times as of RFC 3339: oldest first, types in the order in which they are pushed. */
  entries(): readonly (readonly [XdsType, readonly ShownPush[]])[] {
    return pushOrder.flatMap((type) => {
      const records = this.#records.get(type)
      if (records === undefined) return []
      const shown = records.map((record) => ({ ...record, sentAt: new Date(record.sentAt).toISOString() }))
      return [[type, shown] as const]
    })
  }
}
