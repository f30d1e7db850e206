import type { Credential } from '@osm-ts/driver-api'
import type { Refusal } from '@osm-ts/driver-api/policy'

import type { EncodedDocument } from '../config/document.js'
import type { CredentialNeed } from '../config/further-credentials.js'
import type { CredentialKey } from '../config/upstream-types.js'
import type { PolicyDocument } from '../document.js'

/** A document that may be sent. */
export interface Offer extends EncodedDocument {
  /** Revision of the policy step that it was made from. */
  readonly step: number
  /** What of that policy it leaves out. */
  readonly refusals: readonly Refusal[]
  /** Credentials that the policy names besides the worker's own. */
  readonly needs: readonly CredentialNeed[]
  /** Unavailable credentials; parts that need them are closed. */
  readonly missing: readonly CredentialNeed[]
  /** When it came to be, in milliseconds. */
  readonly at: number
}

interface Made {
  readonly document: PolicyDocument
  readonly step: number
}

/**
 * Which document a worker should have: the one of the newest policy, with the newest certificate and the newest of the further credentials that it names.
 *
 * A further credential is waited for, for a while: it is mostly there a moment after the policy that names it, and a document without it would close what needs
 * it. One that does not come closes that, and keeps nothing else waiting.
 *
 * A document that the worker refused is not offered again. Until the policy changes it is then offered the last one that it took, which matters when its
 * certificate is replaced meanwhile.
 */
export class DocumentState {
  readonly #now: () => number
  readonly #credentialTimeoutMs: number
  readonly #further = new Map<CredentialKey, Credential>()
  /** Since when credentials are named that have not come, in milliseconds. */
  readonly #missingSince = new Map<CredentialKey, number>()
  #isWaiting = false
  #wanted: Made | undefined
  #good: Made | undefined
  /** What was refused: that offer, and the policy where the fault can only be in it. */
  #refused: { readonly revision: string; readonly made: Made } | undefined
  #credential: Credential | undefined
  #made: Made | undefined
  #offer: Offer | undefined

  /**
   * @param now - milliseconds
   * @param credentialTimeoutMs - how long a credential is waited for
   */
  constructor(now: () => number, credentialTimeoutMs: number) {
    this.#now = now
    this.#credentialTimeoutMs = credentialTimeoutMs
  }

  /** What the worker should have. */
  get offer(): Offer | undefined {
    return this.#offer
  }

  /** What the worker should have, without its private key. */
  plain(): EncodedDocument | undefined {
    return (this.#made ?? this.#wanted)?.document.plain()
  }

  setDocument(document: PolicyDocument, step: number): void {
    this.#wanted = { document, step }
    this.#compose()
  }

  setCredential(credential: Credential): void {
    this.#credential = credential
    this.#compose()
  }

  /** A credential that the policy names is there, or is replaced. */
  setFurther(key: CredentialKey, credential: Credential): void {
    this.#further.set(key, credential)
    this.#compose()
  }

  /**
   * Goes on without the credentials that have been waited for long enough.
   *
   * @returns true if that gives another offer
   */
  giveUpWaiting(): boolean {
    if (!this.#isWaiting) return false
    const before = this.#offer
    this.#compose()
    return this.#offer !== before
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
    // What was refused stays so while the worker continues with what it took before.
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
    const { needs, refusals } = made.document
    const missing = needs.filter(({ key }) => !this.#further.has(key))
    this.#isWaiting = this.#isWorthWaiting(missing)
    if (this.#isWaiting) return
    const encoded = made.document.with(this.#credential, this.#further)
    this.#made = made
    const before = this.#offer
    const at = encoded.revision === before?.revision ? before.at : this.#now()
    this.#offer = { ...encoded, step: made.step, refusals, needs, missing, at }
    this.#forgetUnneeded()
  }

  #isWorthWaiting(missing: readonly CredentialNeed[]): boolean {
    const now = this.#now()
    const names = new Set(missing.map(({ key }) => key))
    for (const key of this.#missingSince.keys()) if (!names.has(key)) this.#missingSince.delete(key)
    for (const key of names) if (!this.#missingSince.has(key)) this.#missingSince.set(key, now)
    return [...this.#missingSince.values()].some((since) => now - since < this.#credentialTimeoutMs)
  }

  /** Credentials that no policy references are released, so that they are requested again before they are used again. */
  #forgetUnneeded(): void {
    const needs = [this.#wanted, this.#good].flatMap((made) => made?.document.needs ?? [])
    const needed = new Set(needs.map(({ key }) => key))
    for (const key of this.#further.keys()) if (!needed.has(key)) this.#further.delete(key)
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
