import { isOsmError, OsmError, type ProxyCommonName } from '@osm-ts/driver-api'

import type { MeshDomains } from '../identity/mesh-domains.js'
import { parseProxyCommonName } from '../identity/proxy-identity.js'
import { proxyKey, type ProxyKey } from '../identity/proxy-key.js'
import { ProxyRegistry } from '../proxies/proxy-registry.js'
import { Announcements } from './announcements.js'
import { CertificateIssuer, type IssuerOptions } from './certificate-issuer.js'
import type { CertificateAnnouncement, CertificateManager, CertificateOf, IssueOptions } from './certificate-manager.js'
import { CertificateRecord, type CertificatePlan } from './certificate-record.js'
import { certificateNames, type CertificateRef, type CertificateSubject } from './certificate-subject.js'
import type { Certificate, RootCertificate } from './certificate.js'
import type { CertificateErrorCode } from './errors.js'
import { authorityOf, type Authority, type LeafKind } from './kinds.js'
import { RotationTimer } from './rotation-timer.js'

/**
 * When another root signs, the certificates of the old one are replaced after and over these times. First all who verify
 * them have to hear of the new root: other replicas, sidecars, and the API server by way of osm-bootstrap.
 */
const ROOT_CHANGE = { delayMs: 10_000, spreadMs: 30_000 } as const

/** What {@link MeshCertificateManager} is made from. */
export interface CertificateManagerOptions extends IssuerOptions {
  readonly domains: MeshDomains
  /** The record of proxies that the process shares; absent where no one else reads it. */
  readonly proxies?: ProxyRegistry
}

/** The {@link CertificateManager} of a process, over any provider. */
export class MeshCertificateManager implements CertificateManager {
  readonly #options: CertificateManagerOptions
  readonly #issuer: CertificateIssuer
  readonly #announcements = new Announcements()
  readonly #proxies: ProxyRegistry
  readonly #records = new Map<string, CertificateRecord>()
  /** What is being issued, by key: it outlives a record that is released meanwhile. */
  readonly #inFlight = new Map<string, Promise<Certificate<LeafKind>>>()
  /** Callers of one record share its run. */
  readonly #runs = new Map<CertificateRecord, Promise<Certificate<LeafKind>>>()
  readonly #timer: RotationTimer

  constructor(options: CertificateManagerOptions) {
    this.#options = options
    this.#proxies = options.proxies ?? new ProxyRegistry()
    this.#issuer = new CertificateIssuer(options)
    this.#timer = new RotationTimer(options.clock)
    const ignoreRoots = options.provider.onRootChange((authority) => this.#rootChanged(authority))
    options.signal.addEventListener('abort', ignoreRoots, { once: true })
  }

  async issueCertificate<S extends CertificateSubject>(
    subject: S,
    options: IssueOptions = {},
  ): Promise<CertificateOf<S>> {
    const plan: CertificatePlan = {
      names: certificateNames(subject, this.#options.domains),
      validityMs: options.validityMs,
      ...('holder' in subject && { holder: subject.holder }),
    }
    if (subject.kind === 'proxy' && this.#proxies.state(proxyKey(subject)) === 'released')
      throw released(plan.names.commonName)
    const certificate = options.keep === false ? this.#issuer.issue(plan) : this.#ensure(plan)
    return certificate
  }

  getCertificate<R extends CertificateRef>(ref: R): CertificateOf<R> | undefined {
    return this.#records.get(keyOf(ref))?.certificate
  }

  async rotateCertificate<R extends CertificateRef>(ref: R, requested = true): Promise<CertificateOf<R>> {
    const record = this.#records.get(keyOf(ref))
    if (record === undefined) {
      throw new OsmError<CertificateErrorCode>(
        'OSM_CERT_UNKNOWN',
        `no ${ref.kind} certificate ${ref.commonName} is held here; issue it first`,
      )
    }
    return this.#renew(record, requested)
  }

  getRootCertificate(authority: Authority): RootCertificate {
    return this.#options.provider.rootCertificate(authority)
  }

  trustBundle(authority: Authority): readonly string[] {
    return this.#options.provider.trustBundle(authority)
  }

  listCertificates(): readonly Certificate[] {
    return [...this.#records.values()].flatMap(({ certificate }) => certificate ?? [])
  }

  releaseCertificate(ref: CertificateRef): void {
    const wasHeld = this.#records.delete(keyOf(ref))
    const isNews = ref.kind === 'proxy' ? this.#proxies.release(this.#proxyOf(ref.commonName)) : wasHeld
    if (isNews) this.#announcements.publish({ type: 'released', certificate: ref })
  }

  claimProxyCertificate(commonName: ProxyCommonName): void {
    if (!this.#proxies.claim(this.#proxyOf(commonName))) throw released(commonName)
  }

  subscribe(signal: AbortSignal): AsyncIterable<CertificateAnnouncement> {
    return this.#announcements.subscribe(signal)
  }

  async run(signal: AbortSignal): Promise<void> {
    const renewals = new Set<Promise<void>>()
    while (!signal.aborted) {
      const now = this.#options.clock.now()
      for (const record of this.#records.values()) {
        if (record.nextAttempt > now || this.#runs.has(record)) continue
        const renewal = this.rotateCertificate(refOf(record.plan), false).then(ignore, ignore) // #failed has recorded and announced it
        renewals.add(renewal)
        void renewal.finally(() => renewals.delete(renewal))
      }
      await this.#timer.sleep(this.#nextAttempts(), signal)
    }
    await Promise.all(renewals)
  }

  *#nextAttempts(): Iterable<number> {
    for (const record of this.#records.values()) if (!this.#runs.has(record)) yield record.nextAttempt
  }

  async #ensure(plan: CertificatePlan): Promise<Certificate<LeafKind>> {
    const key = keyOf(refOf(plan))
    const held = this.#records.get(key)
    const record = held ?? new CertificateRecord(plan)
    if (held === undefined) this.#records.set(key, record)
    record.want(plan)
    return record.current(this.#options.clock.now()) ?? this.#renew(record, false)
  }

  #renew(record: CertificateRecord, requested: boolean): Promise<Certificate<LeafKind>> {
    const running = this.#runs.get(record)
    if (running !== undefined) return running
    const run = this.#run(record, requested).finally(() => {
      this.#runs.delete(record)
      this.#timer.wakeBefore(record.nextAttempt)
    })
    this.#runs.set(record, run)
    return run
  }

  /** Issues until the certificate has the names that are wanted by then. */
  async #run(record: CertificateRecord, requested: boolean): Promise<Certificate<LeafKind>> {
    const key = keyOf(refOf(record.plan))
    for (;;) {
      const plan = record.plan
      let certificate: Certificate<LeafKind>
      let root: string
      try {
        root = this.#rootOf(record)
        certificate = await this.#issueAlone(key, record, plan)
      } catch (error) {
        this.#failed(key, record, error)
        throw error
      }
      this.#install(record, plan, certificate, requested)
      // Its signature may have been under way.
      if (this.#rootOf(record) !== root) this.#replaceSoon(record)
      if (record.plan === plan) return certificate
    }
  }

  /** One issue per key at a time, even if the certificate is released and requested again while one is under way. */
  async #issueAlone(key: string, record: CertificateRecord, plan: CertificatePlan): Promise<Certificate<LeafKind>> {
    for (let other = this.#inFlight.get(key); other !== undefined; other = this.#inFlight.get(key)) {
      await other.then(ignore, ignore)
    }
    this.#assertHeld(key, record)
    const issue = this.#issuer.issue(plan).finally(() => this.#inFlight.delete(key))
    this.#inFlight.set(key, issue)
    const certificate = await issue
    this.#assertHeld(key, record)
    return certificate
  }

  #assertHeld(key: string, record: CertificateRecord): void {
    if (this.#records.get(key) !== record) throw released(record.plan.names.commonName)
  }

  #install(
    record: CertificateRecord,
    plan: CertificatePlan,
    certificate: Certificate<LeafKind>,
    requested: boolean,
  ): void {
    const { clock, random } = this.#options
    const ref = refOf(plan)
    const replaces = record.certificate !== undefined
    const reason = record.rotationReason(requested)
    record.install(certificate, plan, clock, random)
    if (ref.kind === 'proxy') this.#proxies.expect(this.#proxyOf(ref.commonName))
    this.#announcements.publish(
      replaces ? { type: 'rotated', certificate: ref, reason } : { type: 'issued', certificate: ref },
    )
  }

  /**
   * A certificate in force is kept and tried again. Where there is none, the callers have the error and may ask again.
   */
  #failed(key: string, record: CertificateRecord, error: unknown): void {
    if (this.#records.get(key) !== record) return
    if (record.certificate === undefined) {
      this.#records.delete(key)
      return
    }
    record.failed(this.#options.clock, this.#options.random)
    const code = isOsmError(error) ? error.code : 'OSM_CERT_ISSUE'
    this.#announcements.publish({ type: 'rotationFailed', certificate: refOf(record.plan), code })
  }

  #rootChanged(authority: Authority): void {
    this.#announcements.publish({ type: 'rootChanged', authority })
    for (const record of this.#records.values()) {
      if (authorityOf(record.plan.names.kind) !== authority) continue
      // What is trusted may have changed without what signs.
      if (record.certificate?.issuingCA.chain !== this.#rootOf(record)) this.#replaceSoon(record)
    }
  }

  #replaceSoon(record: CertificateRecord): void {
    const { clock, random } = this.#options
    record.rootChanged(clock.now() + ROOT_CHANGE.delayMs + ROOT_CHANGE.spreadMs * random())
    this.#timer.wakeBefore(record.nextAttempt)
  }

  /** PEM of the root that signs for a record now. */
  #rootOf({ plan }: CertificateRecord): string {
    return this.#options.provider.rootCertificate(authorityOf(plan.names.kind)).chain
  }

  #proxyOf(commonName: ProxyCommonName): ProxyKey {
    return proxyKey(parseProxyCommonName(commonName, this.#options.domains.trustDomain))
  }
}

function keyOf(ref: CertificateRef): string {
  const holder = ref.kind === 'service' ? (ref.holder ?? '') : ''
  return `${ref.kind}/${ref.commonName}/${holder}`
}

function refOf({ names: { kind, commonName }, holder }: CertificatePlan): CertificateRef {
  return { kind, commonName, ...(holder && { holder: holder.id }) } as CertificateRef // certificateNames made the name for the kind
}

function released(commonName: string): OsmError {
  return new OsmError<CertificateErrorCode>('OSM_CERT_RELEASED', `certificate ${commonName} was released`)
}

function ignore(): void {
  // The outcome is somebody else's; only the end was waited for.
}
