import { X509Certificate } from 'node:crypto'

import { Listeners } from '@osm-ts/driver-api/toolkit'

import type { CertificateProvider, ProviderFault, SignedLeaf, SigningRequest } from './certificate-provider.js'
import type { RootCertificate } from './certificate.js'
import type { Clock } from './clock.js'
import type { CertificateErrorCode } from './errors.js'
import type { Authority } from './kinds.js'
import { RootBundle } from './root-bundle.js'

/** Who signs for workloads, and whose roots are trusted beside those of the signer. */
export interface TrustPlan {
  readonly signer: CertificateProvider
  readonly trusted: readonly CertificateProvider[]
}

/** Sidecars that are connected to this controller. */
export interface ConnectedSidecars {
  readonly count: number
  /** Names of those that have not confirmed all that they were given. */
  readonly unconfirmed: readonly string[]
}

/** How far this controller is in a change of the provider. Roots are named by their SHA-256 fingerprints. */
export interface TrustState {
  /** The root that signs here. */
  readonly signs: string
  /** The root that is to sign next; absent where none is to. */
  readonly next?: string
  /** Trusted roots that all connected sidecars have confirmed since they are trusted. */
  readonly confirmed: readonly string[]
  /** Absent unless a root is to be confirmed, or to sign next. */
  readonly sidecars?: ConnectedSidecars
}

const AUTHORITY = 'workload' satisfies Authority
/** Time for sidecars of other replicas, where their confirmations are not known here. */
const TRUST_FIRST_MS = 30_000
/** Time in which policies with another root have been computed and sent, so that what sidecars confirm is about it. */
const SENT_MS = 10_000
/** Interval between two looks at who has confirmed. */
const CONFIRM_MS = 1_000
/** Sidecars that a message names. */
const MAX_NAMED = 3
/** Roots are replaced by hand in most places. */
const EXPIRES_SOON_MS = 30 * 86_400_000

/**
 * Moves from one provider of workload certificates to another, in stages. The next one signs when its root has been trusted for 30 s and every connected sidecar
 * has confirmed that it trusts it. The roots of the one before stay trusted for a day.
 */
export class StagedProvider implements CertificateProvider {
  readonly #clock: Clock
  readonly #listeners = new Listeners<Authority>()
  readonly #bundle: RootBundle
  /** Since when roots are trusted here, by PEM. */
  #since = new Map<string, number>()
  #plan: TrustPlan
  #signer: CertificateProvider
  #announced = ''
  #sidecars: () => ConnectedSidecars = () => ({ count: 0, unconfirmed: [] })
  /** Undefined: this controller decides for itself. */
  #mayChange: (() => boolean | undefined) | undefined
  /** PEM of roots that all connected sidecars have confirmed. */
  readonly #confirmed = new Set<string>()
  #ends: readonly (() => void)[] = []
  #cancelTimer: () => void = () => undefined
  #problem: Pick<ProviderFault, 'code' | 'message' | 'since'> | undefined

  /** What is trusted from the beginning was trusted before: a controller that starts cannot tell since when. */
  constructor(plan: TrustPlan, clock: Clock) {
    this.#clock = clock
    this.#bundle = new RootBundle(clock)
    this.#plan = plan
    this.#signer = plan.signer
    for (const root of rootsOf(plan)) {
      this.#since.set(root, Number.NEGATIVE_INFINITY)
      this.#confirmed.add(root)
    }
    this.#follow()
    this.#update()
  }

  get name(): string {
    return this.#signer.name
  }

  get signsPublicKeys(): boolean {
    return this.#signer.signsPublicKeys
  }

  /** Says who is connected, and has not confirmed all that it was given. */
  confirmBy(sidecars: () => ConnectedSidecars): void {
    this.#sidecars = sidecars
  }

  /**
   * Lets another one decide when the next provider signs: the leader of several controllers, who knows the sidecars of all of them. Undefined: this controller decides
   * for itself.
   */
  decideBy(mayChange: () => boolean | undefined): void {
    this.#mayChange = mayChange
  }

  /** How far this controller is. */
  trustState(): TrustState {
    const { signer } = this.#plan
    const isWaiting = signer !== this.#signer || this.#unsettled().length > 0
    return {
      signs: rootFingerprint(this.#signer),
      ...(signer === this.#signer ? {} : { next: rootFingerprint(signer) }),
      confirmed: [...this.#confirmed].map((root) => new X509Certificate(root).fingerprint256),
      ...(isWaiting ? { sidecars: this.#sidecars() } : {}),
    }
  }

  /** Takes up another plan. The next signer signs once sidecars trust its root. */
  change(plan: TrustPlan): void {
    this.#plan = plan
    this.#problem = undefined
    this.#follow()
    this.#update()
  }

  /** The plan that is wanted cannot be taken up; undefined: it can. The one in force stays. */
  hold(problem: { readonly code: string; readonly message: string } | undefined): void {
    const isKnown = problem?.code === this.#problem?.code && problem?.message === this.#problem?.message
    if (!isKnown) this.#problem = problem && { ...problem, since: this.#clock.now() }
  }

  sign(request: SigningRequest, signal: AbortSignal): Promise<SignedLeaf> {
    return this.#signer.sign(request, signal)
  }

  rootCertificate(authority: Authority): RootCertificate {
    return this.#signer.rootCertificate(authority)
  }

  trustBundle(): readonly string[] {
    return this.#bundle.roots()
  }

  onRootChange(listener: (authority: Authority) => void): () => void {
    return this.#listeners.add(listener)
  }

  faults(): readonly ProviderFault[] {
    const own: ProviderFault[] = this.#expiring()
    const about = { provider: this.name, authority: AUTHORITY, severity: 'warning' } as const
    if (this.#problem !== undefined) own.push({ ...about, ...this.#problem })
    const next = this.#plan.signer
    if (next !== this.#signer)
      own.push({
        ...about,
        code: 'OSM_CERT_ROTATION' satisfies CertificateErrorCode,
        message: `provider ${next.name} does not sign yet: ${this.#waitsFor()}`,
        since: this.#sinceOf(next),
      })
    const providers = new Set([this.#signer, next, ...this.#plan.trusted])
    return [...[...providers].flatMap((each) => each.faults()), ...own]
  }

  /** True while the provider signs, is about to, or is trusted by the plan. */
  uses(provider: CertificateProvider): boolean {
    return [this.#signer, this.#plan.signer, ...this.#plan.trusted].includes(provider)
  }

  /** Ends the timer, and no longer listens to providers. */
  close(): void {
    this.#cancelTimer()
    for (const end of this.#ends) end()
  }

  #follow(): void {
    for (const end of this.#ends) end()
    const providers = new Set([this.#signer, this.#plan.signer, ...this.#plan.trusted])
    this.#ends = [...providers].map((provider) =>
      provider.onRootChange((authority) => {
        if (authority === AUTHORITY) this.#update()
      }),
    )
  }

  #update(): void {
    const now = this.#clock.now()
    const roots = rootsOf({ signer: this.#signer, trusted: [this.#plan.signer, ...this.#plan.trusted] })
    this.#since = new Map(roots.map((root) => [root, this.#since.get(root) ?? now]))
    for (const root of this.#confirmed) if (!this.#since.has(root)) this.#confirmed.delete(root)
    const sent = this.#unsettled().filter((root) => now >= (this.#since.get(root) ?? now) + SENT_MS)
    if (sent.length > 0 && this.#sidecars().unconfirmed.length === 0) for (const root of sent) this.#confirmed.add(root)
    if (this.#plan.signer !== this.#signer && this.#decide(now)) {
      this.#signer = this.#plan.signer
      this.#bundle.set(rootsOf({ ...this.#plan, signer: this.#signer }))
      this.#follow()
    } else this.#bundle.set(roots)
    this.#schedule()
    const state = [this.#signer.rootCertificate(AUTHORITY).chain, ...this.#bundle.roots()].join('')
    if (state === this.#announced) return
    this.#announced = state
    this.#listeners.notify(AUTHORITY)
  }

  #schedule(): void {
    this.#cancelTimer()
    const isWaiting = this.#plan.signer !== this.#signer || this.#unsettled().length > 0
    const next = isWaiting ? this.#clock.now() : this.#bundle.nextChange()
    if (next === undefined) return
    this.#cancelTimer = this.#clock.setTimer(() => this.#update(), Math.max(CONFIRM_MS, next - this.#clock.now()))
  }

  /** Roots of the plan that sidecars have not confirmed yet. */
  #unsettled(): readonly string[] {
    return [...this.#since.keys()].filter((root) => !this.#confirmed.has(root))
  }

  #decide(now: number): boolean {
    return this.#mayChange?.() ?? (now >= this.#signsFrom() && this.#sidecars().unconfirmed.length === 0)
  }

  #waitsFor(): string {
    const missing = this.#sidecars().unconfirmed
    if (missing.length === 0 && this.#mayChange?.() === false)
      return 'the leading controller has not decided yet; the status of its MeshRootCertificate tells what it waits for'
    if (missing.length === 0)
      return `sidecars learn to trust its root until ${new Date(this.#signsFrom()).toISOString()}`
    const named = missing.slice(0, MAX_NAMED).join(', ')
    return `connected sidecars that have not confirmed that they trust its root: ${missing.length}, such as ${named}`
  }

  #signsFrom(): number {
    return this.#sinceOf(this.#plan.signer) + TRUST_FIRST_MS
  }

  #sinceOf(provider: CertificateProvider): number {
    return this.#since.get(provider.rootCertificate(AUTHORITY).chain) ?? this.#clock.now()
  }

  #expiring(): ProviderFault[] {
    const now = this.#clock.now()
    return [this.#signer, this.#plan.signer]
      .slice(0, this.#signer === this.#plan.signer ? 1 : 2)
      .flatMap((provider) => {
        const { expiration, commonName } = provider.rootCertificate(AUTHORITY)
        if (expiration - now > EXPIRES_SOON_MS) return []
        const code: CertificateErrorCode = 'OSM_CERT_ROOT_EXPIRES'
        const message = `root ${commonName} expires at ${new Date(expiration).toISOString()}; replace it before`
        const since = expiration - EXPIRES_SOON_MS
        return [{ provider: provider.name, authority: AUTHORITY, code, severity: 'warning', message, since } as const]
      })
  }
}

/** SHA-256 fingerprint of the root by which a provider signs for workloads. */
export function rootFingerprint(provider: Pick<CertificateProvider, 'rootCertificate'>): string {
  return new X509Certificate(provider.rootCertificate(AUTHORITY).chain).fingerprint256
}

/** PEM of the roots of all providers of a plan, each once, that of the signer first. */
function rootsOf({ signer, trusted }: TrustPlan): readonly string[] {
  const all = [signer, ...trusted].flatMap((provider) => provider.trustBundle(AUTHORITY))
  return [
    ...new Set([signer.rootCertificate(AUTHORITY).chain, ...all.map((pem) => new X509Certificate(pem).toString())]),
  ]
}
