import type { ApplyReport, PartHash, PartRef, PartReport, PolicyUpdate } from '@osm-ts/driver-api'

import type { Refusal } from '../translate/read-policy.js'
import { redact } from './worker-words.js'

type Unapplied = Exclude<PartReport['state'], 'applied'>

/** A part that is not in force yet. */
interface Awaited {
  readonly ref: PartRef
  /** Revision of the policy step that it came with. */
  readonly revision: number
  reported: Unapplied | undefined
}

/** What of a step of the policy stream is looked at. */
type Step = Pick<PolicyUpdate, 'revision' | 'added' | 'removed'>

/**
 * Turns what became of a document into what became of the parts that it was made of.
 *
 * A document is taken as a whole or not at all. Of a refused one, the new parts that the worker's words name are rejected and the others as little in
 * force; if they name none, all are rejected.
 */
export class ApplyTracker {
  readonly #session: string
  readonly #awaited = new Map<PartHash, Awaited>()
  #latest = 0
  #complete = 0

  /** @param session - that the host knows the worker under */
  constructor(session: string) {
    this.#session = session
  }

  /** A step of the policy stream takes effect. */
  update({ revision, added, removed }: Step): void {
    this.#latest = revision
    for (const { hash } of removed) this.#awaited.delete(hash)
    for (const ref of added) this.#awaited.set(ref.hash, { ref, revision, reported: undefined })
  }

  /** All steps up to that one are in force, but for what the document leaves out. What to report; undefined if that is no news. */
  applied(revision: number, refusals: readonly Refusal[]): ApplyReport | undefined {
    if (revision <= this.#complete) return undefined
    this.#complete = revision
    const parts = [...this.#awaited.values()]
      .filter((awaited) => awaited.revision <= revision)
      .map(({ ref: { hash, id } }): PartReport => {
        const refusal = refusals.find(({ ref }) => ref.hash === hash)
        if (refusal === undefined) return { hash, id, state: 'applied' }
        const { message, pointer } = refusal
        return { hash, id, state: 'rejected', message: redact(message), ...(pointer !== '' && { element: pointer }) }
      })
    for (const { hash } of parts) this.#awaited.delete(hash)
    return { session: this.#session, revision, complete: refusals.length === 0, parts }
  }

  /** The worker has not taken the newest step in the time that it has. */
  unacknowledged(): ApplyReport | undefined {
    return this.#report((awaited) => awaited.reported ?? 'unknown', '')
  }

  /** The newest step was refused in these words. */
  refused(words: string): ApplyReport | undefined {
    const message = redact(words)
    const named = [...this.#awaited.values()].filter(({ ref }) => message.includes(ref.id))
    const blamed = new Set(named.map(({ ref }) => ref.hash))
    return this.#report(({ ref }) => (blamed.size === 0 || blamed.has(ref.hash) ? 'rejected' : 'unknown'), message)
  }

  #report(stateOf: (awaited: Awaited) => Unapplied, message: string): ApplyReport | undefined {
    const parts: PartReport[] = []
    for (const awaited of this.#awaited.values()) {
      const { hash, id } = awaited.ref
      const state = stateOf(awaited)
      if (state === awaited.reported) continue
      awaited.reported = state
      parts.push({ hash, id, state, ...(state === 'rejected' && { message }) })
    }
    return parts.length === 0 ? undefined : { session: this.#session, revision: this.#latest, complete: false, parts }
  }
}
