import type { ApplyReport, PartReport } from '@osm-ts/driver-api'
import type { PartHash, PartRef, PolicyUpdate } from '@osm-ts/driver-api/policy'

import type { EncodedResource } from '../../resources/types.js'
import type { Unapplied } from '../state/differences.js'
import { redact } from '../redact.js'

type State = PartReport['state']

/** What is known of a part that is not applied, or was not when it was last reported. */
interface Awaited {
  readonly ref: PartRef
  reported: State | undefined
}

/** Finds the parts that a refusal is about. */
export type Tracer = (
  message: string,
  resource: EncodedResource,
) => readonly { readonly part: PartRef; readonly element?: string }[]

interface Verdict {
  readonly message: string
  readonly element?: string
}

/**
 * Turns the state of resources into the state of the parts that they were made of.
 *
 * Of a refused resource, the parts that the proxy's words are about are rejected; the others are as little applied, but not at fault.
 *
 * Only parts that came with an update are checked: the resource that a new part takes part in may be refused, but its earlier parts are in force in its last good version.
 */
export class ApplyTracker {
  readonly #session: string
  readonly #trace: Tracer
  readonly #awaited = new Map<PartHash, Awaited>()
  #revision: number | undefined
  #complete = false
  #failed = false
  #isUrgent = false
  #endpoints = 0

  constructor(session: string, trace: Tracer) {
    this.#session = session
    this.#trace = trace
  }

  /** A step of the policy stream takes effect. */
  update({ revision, added, removed }: Pick<PolicyUpdate, 'revision' | 'added' | 'removed'>): void {
    this.#revision = revision
    // Until it hears otherwise, the host takes every new part for unknown and the step for incomplete. It must hear that one which was refused is not in
    // question any more.
    let refused = this.#failed
    this.#complete = false
    this.#failed = false
    for (const { hash } of removed) {
      refused ||= this.#awaited.get(hash)?.reported === 'rejected'
      this.#awaited.delete(hash)
    }
    for (const ref of added) this.#awaited.set(ref.hash, { ref, reported: refused ? undefined : 'unknown' })
    this.#isUrgent = refused
  }

  /** True if the host takes something for refused that is not in question any more. */
  get isUrgent(): boolean {
    return this.#isUrgent
  }

  /** These parts came with earlier steps, and what they hold now is refused. */
  doubt(refs: Iterable<PartRef>): void {
    for (const ref of refs) if (!this.#awaited.has(ref.hash)) this.#awaited.set(ref.hash, { ref, reported: 'applied' })
  }

  /**
   * What to report now; undefined if nothing has changed since the last report.
   *
   * @param endpoints - generation of the endpoints that the proxy was told of last
   */
  report(unapplied: Iterable<Unapplied>, settled: boolean, endpoints = 0): ApplyReport | undefined {
    if (this.#revision === undefined || this.#failed) return undefined
    this.#isUrgent = false
    let unknown: Set<PartHash> | undefined
    let refused: Map<PartHash, Verdict> | undefined
    for (const { resource, message } of unapplied) {
      // A resource is made of all that it leads to, and nearly all of that was applied before.
      for (const { hash } of resource.sources) if (this.#awaited.has(hash)) (unknown ??= new Set<PartHash>()).add(hash)
      if (message !== undefined) this.#judge(resource, message, (refused ??= new Map<PartHash, Verdict>()))
    }
    const parts: PartReport[] = []
    for (const [hash, awaited] of this.#awaited) {
      const verdict = refused?.get(hash)
      const state: State = verdict !== undefined ? 'rejected' : unknown?.has(hash) === true ? 'unknown' : 'applied'
      if (state !== awaited.reported) parts.push({ hash, id: awaited.ref.id, state, ...verdict })
      if (state === 'applied') this.#awaited.delete(hash)
      else awaited.reported = state
    }
    const complete = settled && this.#awaited.size === 0
    const tellsEndpoints = settled && endpoints > this.#endpoints
    if (parts.length === 0 && complete === this.#complete && !tellsEndpoints) return undefined
    this.#complete = complete
    if (tellsEndpoints) this.#endpoints = endpoints
    return { session: this.#session, revision: this.#revision, complete, ...(tellsEndpoints && { endpoints }), parts }
  }

  /** The policy of that step could not be translated, so that none of its new parts can be applied. */
  fail(update: Pick<PolicyUpdate, 'revision' | 'added' | 'removed'>, message: string): ApplyReport {
    this.update(update)
    this.#failed = true
    // What came with steps before may be on its way to the proxy still, and is not at fault.
    const parts = update.added.map((ref): PartReport => {
      this.#awaited.set(ref.hash, { ref, reported: 'rejected' })
      return { hash: ref.hash, id: ref.id, state: 'rejected', message: redact(message) }
    })
    this.#complete = false
    return { session: this.#session, revision: update.revision, complete: false, parts }
  }

  /** Where the words lead to nothing that is new, whatever is new is at fault. */
  #judge(resource: EncodedResource, message: string, refused: Map<PartHash, Verdict>): void {
    const traced = this.#trace(message, resource).filter(({ part }) => this.#awaited.has(part.hash))
    const attributed = traced.length > 0 ? traced : resource.sources.map((part) => ({ part, element: undefined }))
    for (const { part, element } of attributed)
      refused.set(part.hash, { message: redact(message), ...(element !== undefined && { element }) })
  }
}
