import type { CertificateNames } from './certificate-subject.js'
import type { Certificate } from './certificate.js'
import type { Clock, Random } from './clock.js'
import type { RotationReason } from './certificate-manager.js'
import type { KeyHolder } from './key-holder.js'
import type { LeafKind } from './kinds.js'

/** Certificates are replaced at some point of this stretch of their life, each at its own. */
const ROTATION = { from: 0.5, to: 0.75 } as const
/** Delays between attempts double from the first to the last. */
const RETRY = { firstMs: 1_000, lastMs: 60_000, atLeastMs: 250 } as const

/** What a certificate is to hold. */
export interface CertificatePlan {
  readonly names: CertificateNames
  readonly validityMs: number | undefined
  /** Who holds the key; absent: it is made with the certificate. */
  readonly holder?: KeyHolder
}

/** One certificate of the manager: what is wanted, what is in force, and when to see to it again. */
export class CertificateRecord {
  #plan: CertificatePlan
  #certificate: Certificate<LeafKind> | undefined
  #issuedFor: CertificatePlan | undefined
  #nextAttempt = Number.POSITIVE_INFINITY
  #failures = 0
  #rootIsNew = false

  constructor(plan: CertificatePlan) {
    this.#plan = plan
  }

  get plan(): CertificatePlan {
    return this.#plan
  }

  get certificate(): Certificate<LeafKind> | undefined {
    return this.#certificate
  }

  /** When to replace the certificate, or to try again to; milliseconds since 1970. */
  get nextAttempt(): number {
    return this.#nextAttempt
  }

  /** Keeps the plan in force if the new one requests the same names. */
  want(plan: CertificatePlan): void {
    if (!sameNames(this.#plan.names, plan.names)) this.#plan = plan
  }

  /** The certificate, if it is what is wanted and can still be used. */
  current(now: number): Certificate<LeafKind> | undefined {
    return this.#hasWantedNames() && now < (this.#certificate?.expiration ?? 0) ? this.#certificate : undefined
  }

  /** Why the next certificate will replace this one. */
  rotationReason(requested: boolean): RotationReason {
    if (!this.#hasWantedNames()) return 'names'
    if (requested) return 'requested'
    return this.#rootIsNew ? 'root' : 'lifetime'
  }

  install(certificate: Certificate<LeafKind>, plan: CertificatePlan, clock: Clock, random: Random): void {
    this.#certificate = certificate
    this.#issuedFor = plan
    this.#failures = 0
    this.#rootIsNew = false
    const now = clock.now()
    const share = ROTATION.from + (ROTATION.to - ROTATION.from) * random()
    this.#nextAttempt = now + (certificate.expiration - now) * share
  }

  /** Tries again later, but well within what is left of the certificate. */
  failed(clock: Clock, random: Random): void {
    const now = clock.now()
    const backoff = Math.min(RETRY.lastMs, RETRY.firstMs * 2 ** this.#failures) * (0.5 + random() / 2)
    this.#failures += 1
    const left = (this.#certificate?.expiration ?? now) - now
    this.#nextAttempt = now + (left > 0 ? Math.min(backoff, Math.max(left / 4, RETRY.atLeastMs)) : backoff)
  }

  /** The root that signed the certificate no longer signs. */
  rootChanged(replaceAt: number): void {
    this.#rootIsNew = true
    this.#nextAttempt = Math.min(this.#nextAttempt, replaceAt)
  }

  #hasWantedNames(): boolean {
    return this.#issuedFor !== undefined && sameNames(this.#issuedFor.names, this.#plan.names)
  }
}

/** Lists of names are compared in order: they are made in one order. */
function sameNames(a: CertificateNames, b: CertificateNames): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}
