import type { Credential, Refusal } from '@osm-ts/driver-api'

import type { EncodedDocument } from '../config/document.js'
import type { PolicyDocument } from '../document.js'

/** A document that may be sent. */
export interface Offer extends EncodedDocument {
  /** Revision of the policy step that it was made from. */
  readonly step: number
  /** What of that policy it leaves out. */
  readonly refusals: readonly Refusal[]
  /** When it came to be, in milliseconds. */
  readonly at: number
}

interface Made {
  readonly document: PolicyDocument
  readonly step: number
}

/**
 * Which document a worker should have: the one of the newest policy, with the newest certificate.
 *
 * A document that the worker refused is not offered again. Until the policy changes it is then offered the last one that it took, which matters when its
 * certificate is replaced meanwhile.
 */
export class DocumentState {
  readonly #now: () => number
  #wanted: Made | undefined
  #good: Made | undefined
  /** What was refused: that offer, and the policy where the fault can only be in it. */
  #refused: { readonly revision: string; readonly made: Made } | undefined
  #credential: Credential | undefined
  #made: Made | undefined
  #offer: Offer | undefined

  /** @param now - milliseconds */
  constructor(now: () => number) {
    this.#now = now
  }

  /** What the worker should have. */
  get offer(): Offer | undefined {
    return this.#offer
  }

  /** What the worker should have, without its private key. */
  plain(): EncodedDocument | undefined {
    return this.#made?.document.plain()
  }

  setDocument(document: PolicyDocument, step: number): void {
    this.#wanted = { document, step }
    this.#compose()
  }

  setCredential(credential: Credential): void {
    this.#credential = credential
    this.#compose()
  }

  /** What to send to a worker that has that revision; undefined if there is nothing that it should take. */
  next(has: string): Offer | undefined {
    const offer = this.#offer
    return offer === undefined || offer.revision === has || offer.revision === this.#refused?.revision
      ? undefined
      : offer
  }

  /** The worker has the present offer. */
  applied(): void {
    this.#good = this.#made
    // What was refused stays so while the worker goes on with what it took before.
    if (this.#made === this.#wanted) this.#refused = undefined
  }

  /** @returns false if the worker speaks of something else than the present offer, or says it again */
  refuse(revision: string): boolean {
    const made = this.#made
    if (made === undefined || this.#offer?.revision !== revision || this.#refused?.revision === revision) return false
    this.#refused = { revision, made }
    this.#compose()
    return true
  }

  #compose(): void {
    const wanted = this.#wanted
    if (wanted === undefined || this.#credential === undefined) return
    const made = this.#isParked(wanted) ? (this.#good ?? wanted) : wanted
    const encoded = made.document.with(this.#credential)
    this.#made = made
    const at = encoded.revision === this.#offer?.revision ? this.#offer.at : this.#now()
    this.#offer = { ...encoded, step: made.step, refusals: made.document.refusals, at }
  }

  /** The policy is at fault if it is another one than that which was taken; else it is the certificate, and the next one may do. */
  #isParked({ document }: Made): boolean {
    if (this.#refused === undefined || this.#good === undefined) return false
    const { revision } = document.plain()
    return (
      revision === this.#refused.made.document.plain().revision && revision !== this.#good.document.plain().revision
    )
  }
}
