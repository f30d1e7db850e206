import type { ApplyReport, PartReport } from '../apply-state.js'
import type { PartHash } from '../policy/parts.js'
import type { PartRef, PolicyUpdate } from '../policy/policy.js'
import type { Refusal } from '../policy/policy-reader.js'
import { shownWords } from './shown-words.js'

type Unapplied = Exclude<PartReport['state'], 'applied'>

/** A part that is not in force yet. */
interface Awaited {
  readonly ref: PartRef
  /** Revision of the policy step that it came with. */
  readonly revision: number
  reported: Unapplied | undefined
}

/**
 * For a driver that translates a whole policy into one document: derives the states of parts from the states of documents.
 *
 * A document is accepted or refused as a whole. If it is refused, the new parts that the message of the proxy names are rejected, and the others are not
 * in force either; if the message names none, all are rejected.
 */
export class DocumentTracker {
  readonly #session: string
  readonly #awaited = new Map<PartHash, Awaited>()
  /** Parts in force that the proxy cannot do after all. */
  readonly #failed = new Map<PartHash, Refusal>()
  /** Parts that are not in force, with what they are refused for: left out of the document, or failed. */
  #leftOut = new Map<PartHash, Refusal>()
  #latest = 0
  #complete = -1
  #refused = -1

  /** @param session - that the host knows the proxy under */
  constructor(session: string) {
    this.#session = session
  }

  /** A step of the policy stream takes effect: from now on documents are made of it. */
  update({ revision, added, removed }: Pick<PolicyUpdate, 'revision' | 'added' | 'removed'>): void {
    this.#latest = revision
    for (const { hash } of removed) {
      this.#awaited.delete(hash)
      this.#failed.delete(hash)
      this.#leftOut.delete(hash)
    }
    for (const ref of added) this.#awaited.set(ref.hash, { ref, revision, reported: undefined })
  }

  /**
   * All steps up to that one are in force, but for what the document leaves out. Of one and the same step that may be less or more than before: a credential comes
   * late, or one that takes its place cannot be used.
   *
   * @returns what to report; undefined if nothing changed
   */
  applied(revision: number, ofDocument: readonly Refusal[]): ApplyReport | undefined {
    if (revision < this.#complete) return undefined
    const isNews = revision > this.#complete
    this.#complete = revision
    const due = [...this.#awaited.values()].filter((awaited) => awaited.revision <= revision).map(({ ref }) => ref)
    for (const { hash } of due) this.#awaited.delete(hash)
    const refusals = [...ofDocument, ...this.#failed.values()]
    // The first report on a part is used.
    const leftOut = new Map(refusals.toReversed().map((refusal) => [refusal.ref.hash, refusal]))
    const before = this.#leftOut
    this.#leftOut = leftOut
    const taken = [...before.values()].filter(({ ref }) => !leftOut.has(ref.hash))
    const given = [...leftOut.values()].filter(({ ref, message }) => before.get(ref.hash)?.message !== message)
    const changed = new Map([...due, ...[...taken, ...given].map(({ ref }) => ref)].map((ref) => [ref.hash, ref]))
    if (!isNews && changed.size === 0) return undefined
    const parts = [...changed.values()].map((ref) => partReport(ref, leftOut.get(ref.hash)))
    return { session: this.#session, revision, complete: refusals.length === 0, parts }
  }

  /**
   * These are all parts that the proxy cannot do, though it has taken the document that holds them.
   *
   * @returns what to report; undefined if nothing changed
   */
  failed(refusals: readonly Refusal[]): ApplyReport | undefined {
    for (const [hash, { ref }] of this.#failed) {
      if (refusals.some((refusal) => refusal.ref.hash === hash)) continue
      // The proxy supports it now: the next acknowledgement reports it.
      this.#failed.delete(hash)
      this.#leftOut.delete(hash)
      this.#awaited.set(hash, { ref, revision: this.#latest, reported: 'rejected' })
      this.#complete = -1
    }
    const changed = refusals.filter(({ ref }) => !this.#failed.has(ref.hash))
    for (const refusal of changed) {
      this.#failed.set(refusal.ref.hash, refusal)
      this.#leftOut.set(refusal.ref.hash, refusal)
      this.#awaited.delete(refusal.ref.hash)
    }
    if (changed.length === 0) return undefined
    return {
      session: this.#session,
      revision: this.#latest,
      complete: false,
      parts: changed.map((refusal) => partReport(refusal.ref, refusal)),
    }
  }

  /**
   * The proxy has not taken the newest step in the time that it has.
   *
   * @returns what to report; undefined if nothing changed
   */
  unacknowledged(): ApplyReport | undefined {
    return this.#report(this.#latest, ({ reported }) => reported ?? 'unknown', '')
  }

  /**
   * A document was refused.
   *
   * @param words - the proxy's own, or why there is no document
   * @param revision - of the step that the document was made from; the newest if absent
   * @returns what to report; undefined if nothing changed
   */
  refused(words: string, revision = this.#latest): ApplyReport | undefined {
    const message = shownWords(words)
    const judged = [...this.#awaited.values()].filter((awaited) => awaited.revision <= revision)
    const named = judged.filter(({ ref }) => message.includes(ref.id))
    const rejected = new Set((named.length === 0 ? judged : named).map(({ ref }) => ref.hash))
    const report = this.#report(revision, ({ ref }) => (rejected.has(ref.hash) ? 'rejected' : 'unknown'), message)
    // A step may change the proxy part alone, which is not part of the list: the host is still informed that it is not in force.
    const isNews = revision > Math.max(this.#complete, this.#refused)
    this.#refused = Math.max(revision, this.#refused)
    return report ?? (isNews ? { session: this.#session, revision, complete: false, parts: [] } : undefined)
  }

  #report(revision: number, stateOf: (awaited: Awaited) => Unapplied, message: string): ApplyReport | undefined {
    const parts: PartReport[] = []
    for (const awaited of this.#awaited.values()) {
      if (awaited.revision > revision) continue
      const { hash, id } = awaited.ref
      const state = stateOf(awaited)
      if (state === awaited.reported) continue
      awaited.reported = state
      parts.push({ hash, id, state, ...(state === 'rejected' && { message }) })
    }
    return parts.length === 0 ? undefined : { session: this.#session, revision, complete: false, parts }
  }
}

function partReport({ hash, id }: PartRef, refusal: Refusal | undefined): PartReport {
  if (refusal === undefined) return { hash, id, state: 'applied' }
  const { message, pointer } = refusal
  return { hash, id, state: 'rejected', message: shownWords(message), ...(pointer !== '' && { element: pointer }) }
}
