import type { ApplyReport, PartHash, PartRef, PartReport, PolicyUpdate } from '@osm-ts/driver-api'

import type { Refusal } from '../translate/policy-reader.js'
import { limits } from './limits.js'

interface Pending {
  readonly ref: PartRef
  readonly revision: number
  rejected: boolean
}

const PEM = /-----BEGIN [^-]*-----[\s\S]*?(?:-----END [^-]*-----|$)/g

/** Turns what became of documents into what became of parts: a document is taken as a whole or not at all. */
export class ApplyTracker {
  readonly #session: string
  readonly #pending = new Map<PartHash, Pending>()
  #complete = -1

  constructor(session: string) {
    this.#session = session
  }

  /** A step of the policy stream is to be put in force. */
  update({ revision, added, removed }: Pick<PolicyUpdate, 'revision' | 'added' | 'removed'>): void {
    for (const { hash } of removed) this.#pending.delete(hash)
    for (const ref of added) this.#pending.set(ref.hash, { ref, revision, rejected: false })
  }

  /** All steps up to that one are in force, but for what the document leaves out; undefined if that was said already. */
  applied(revision: number, refusals: readonly Refusal[]): ApplyReport | undefined {
    if (revision <= this.#complete) return undefined
    this.#complete = revision
    const due = [...this.#pending.values()].filter((pending) => pending.revision <= revision)
    for (const { ref } of due) this.#pending.delete(ref.hash)
    const parts = due.map(({ ref: { hash, id } }): PartReport => {
      const refusal = refusals.find(({ ref }) => ref.hash === hash)
      if (refusal === undefined) return { hash, id, state: 'applied' }
      const { pointer, message } = refusal
      return { hash, id, state: 'rejected', message, ...(pointer !== '' && { element: pointer }) }
    })
    return { session: this.#session, revision, complete: refusals.length === 0, parts }
  }

  /** The newest document was refused in these words: nothing of it is in force. */
  refused(revision: number, words: string): ApplyReport {
    const message = words.slice(0, limits.maxWords).replace(PEM, '[redacted]')
    const news = [...this.#pending.values()].filter(({ rejected }) => !rejected)
    for (const pending of news) pending.rejected = true
    const parts = news.map(({ ref: { hash, id } }): PartReport => ({ hash, id, state: 'rejected', message }))
    return { session: this.#session, revision, complete: false, parts }
  }
}
