import { createHash } from 'node:crypto'

import type {
  ApplyReport,
  Credential,
  DriverCertificates,
  Logger,
  PolicySource,
  Proxies,
  ProxyRef,
} from '@osm-ts/driver-api'
import { canonicalJson } from '@osm-ts/driver-api/policy'
import { DocumentTracker, followPolicies, type PartStore, Wake, type WorkTurns } from '@osm-ts/driver-api/toolkit'

import type { Translation } from '../translate/document.js'
import { translate } from '../translate/translate.js'

/** What sessions work with. */
export interface SessionPorts {
  readonly proxies: Pick<Proxies, 'authenticate' | 'disconnected' | 'report'>
  readonly policies: PolicySource['policies']
  readonly certificates: Pick<DriverCertificates, 'identity'>
  readonly parts: PartStore
  readonly turns: WorkTurns
  readonly logger: Logger
  /** Milliseconds that do not go back. */
  readonly now: () => number
}

/** A document with its certificate. */
interface Offer {
  readonly revision: string
  readonly body: string
  readonly made: Made
}

interface Made {
  readonly translation: Translation
  /** Revision of the policy step that it was made from. */
  readonly step: number
}

/** What a poll says. */
export interface Poll {
  /** Revision in force. */
  readonly has: string
  readonly refused?: { readonly revision: string; readonly words: string }
  /** The agent can use the key of its proxy certificate. */
  readonly hasKey: boolean
}

/** One sidecar, as long as it polls with one certificate. */
export class Session {
  readonly proxy: ProxyRef
  /** SHA-256 of the certificate that it was begun with. */
  readonly certificate: string
  /** Whether the sidecar uses its own key where the mesh has it so. */
  readonly hasKey: boolean
  readonly #ports: SessionPorts
  readonly #over = new AbortController()
  readonly #tracker: DocumentTracker
  #wake = new Wake()
  #heard: number
  #credential: Credential | undefined
  #wanted: Made | undefined
  #good: Made | undefined
  #offer: Offer | undefined
  /** Revision that the sidecar has in force, as it last said. */
  #has = ''
  /** Revision that the sidecar refused, and what it was made of. */
  #refused = ''
  #bad: Made | undefined

  constructor(proxy: ProxyRef, certificate: string, hasKey: boolean, ports: SessionPorts) {
    this.proxy = proxy
    this.certificate = certificate
    this.hasKey = hasKey
    this.#ports = ports
    this.#heard = ports.now()
    this.#tracker = new DocumentTracker(proxy.session)
  }

  /** Aborts when the session is over. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** Milliseconds since the sidecar was last heard of. */
  get silentMs(): number {
    return this.#ports.now() - this.#heard
  }

  /** For people. */
  describe(): Readonly<Record<string, unknown>> {
    const { uuid, identity } = this.proxy
    return { uuid, identity, offered: this.#offer?.revision ?? '', refused: this.#refused, silentMs: this.silentMs }
  }

  end(): void {
    this.#over.abort()
  }

  /** Follows policy and certificate until the session ends. */
  async run(): Promise<void> {
    const { proxies, logger } = this.#ports
    await Promise.all([this.#supervise(this.#followPolicy()), this.#supervise(this.#followIdentity())])
    await proxies
      .disconnected(this.proxy.session)
      .catch((error: unknown) => logger.error({ error: String(error) }, 'host was not told of the end of a session'))
  }

  /** What the sidecar should have and has not, as soon as there is something; undefined if the signal aborts before. One poll waits at a time. */
  async poll({ has, refused }: Poll, signal: AbortSignal): Promise<string | undefined> {
    this.#heard = this.#ports.now()
    if (refused !== undefined) this.#refuse(refused.revision, refused.words)
    this.#has = has
    if (has !== '' && has === this.#offer?.revision) this.#applied(this.#offer.made)
    // Another poll that waits is of a connection that is gone.
    const wake = new Wake()
    this.#wake.notify()
    this.#wake = wake
    const ended = AbortSignal.any([signal, this.#over.signal])
    while (!ended.aborted) {
      const offer = this.#offer
      if (offer !== undefined && offer.revision !== has && offer.revision !== this.#refused) return offer.body
      if (this.#wake !== wake) return undefined
      await wake.wait(ended)
    }
    return undefined
  }

  async #followPolicy(): Promise<void> {
    const { policies, parts, turns, logger } = this.#ports
    for await (const update of followPolicies(policies, parts, this.proxy, this.#over.signal)) {
      this.#tracker.update(update)
      try {
        const translation = await turns.run(() => translate(update.proxy, (hash) => parts.get(hash)))
        this.#wanted = { translation, step: update.revision }
        this.#compose()
      } catch (error) {
        logger.error(
          { proxy: this.proxy.uuid, error: String(error) },
          'policy cannot be translated; the last good one stays',
        )
        this.#tell(this.#tracker.refused(String(error)))
      }
    }
  }

  async #followIdentity(): Promise<void> {
    const takes = this.hasKey ? ({ key: 'proxy' } as const) : {}
    for await (const credential of this.#ports.certificates.identity(this.proxy, this.#over.signal, takes)) {
      this.#credential = credential
      this.#compose()
    }
  }

  /** What was refused is not offered again before the policy changes: certificates continue with the policy before. */
  #compose(): void {
    const made = this.#wanted === this.#bad ? (this.#good ?? this.#wanted) : this.#wanted
    if (made !== undefined && this.#credential !== undefined) this.#put(made, this.#credential)
  }

  #put(made: Made, { chain, privateKey, key }: Credential): void {
    const certificate =
      key === 'proxy' ? { certificate: chain, key } : { certificate: `${chain.trimEnd()}\n${privateKey}` }
    const content = canonicalJson({ ...made.translation.document, ...certificate })
    const revision = createHash('sha256').update(content).digest('base64url').slice(0, 32)
    this.#offer = { revision, body: `${content.slice(0, -1)},"revision":"${revision}"}`, made }
    // A step that changes nothing for this class is in force with what is.
    if (revision === this.#has) this.#applied(made)
    else this.#wake.notify()
  }

  #applied(made: Made): void {
    this.#good = made
    this.#tell(this.#tracker.applied(made.step, made.translation.refusals))
  }

  #refuse(revision: string, words: string): void {
    const offer = this.#offer
    if (offer?.revision !== revision || this.#refused === revision) return
    this.#refused = revision
    this.#ports.logger.warn(
      { proxy: this.proxy.uuid, revision },
      'sidecar refused its configuration; the one before stays',
    )
    this.#tell(this.#tracker.refused(words, offer.made.step))
    this.#bad = offer.made
    this.#compose()
  }

  /** A stream that ends while the session lasts would leave the sidecar with what it has forever: it begins another session. */
  async #supervise(task: Promise<void>): Promise<void> {
    try {
      await task
    } catch (error) {
      if (!this.#over.signal.aborted)
        this.#ports.logger.error(
          { proxy: this.proxy.uuid, error: String(error) },
          'session of a sidecar ends by a fault',
        )
    }
    this.end()
  }

  #tell(report: ApplyReport | undefined): void {
    if (report === undefined || this.#over.signal.aborted) return
    const { proxies, logger } = this.#ports
    proxies
      .report(report)
      .catch((error: unknown) => logger.error({ error: String(error) }, 'host was not told of a state'))
  }
}
