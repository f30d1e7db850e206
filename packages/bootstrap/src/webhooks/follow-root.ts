import type { Clock, Random, RootBundle } from '@osm-ts/core'
import { caCertificateInformer, caSecretName, type Informer, type KubernetesApi } from '@osm-ts/kubernetes'
import { type DriverMetrics, isOsmError, type Logger } from '@osm-ts/driver-api'

import { parseRoots } from './parse-roots.js'

/** What {@link RootFollower} is made of. */
export interface RootFollowerOptions {
  readonly api: KubernetesApi
  readonly namespace: string
  /** `--ca-bundle-secret-name`. */
  readonly caBundleSecretName: string
  readonly bundle: RootBundle
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: DriverMetrics
  /** Tells users, by an event. */
  readonly report: (reason: string, message: string) => void
  /** The bundle has changed. */
  readonly onChange: () => void
}

/** Keeps a bundle of roots as the Secret of the control plane's root says, while others may replace that Secret. */
export class RootFollower {
  readonly #options: RootFollowerOptions
  /** Holds the certificates and never the key. */
  readonly #informer: Informer<string>
  #cancelTimer: () => void = () => undefined

  constructor(options: RootFollowerOptions) {
    this.#options = options
    const { namespace, caBundleSecretName: secretName } = options
    this.#informer = caCertificateInformer({ namespace, secretName, authority: 'control-plane' }, options)
  }

  get #name(): string {
    return caSecretName(this.#options.caBundleSecretName, 'control-plane')
  }

  /**
   * Resolves when the bundle holds the roots of the Secret; continues until the signal aborts.
   *
   * @throws OsmError with code `OSM_BOOTSTRAP_ROOT` if the first roots can't be read
   */
  async start(signal: AbortSignal): Promise<void> {
    const { namespace, bundle } = this.#options
    await this.#informer.start(signal)
    const pem = this.#informer.get({ namespace, name: this.#name })
    bundle.set(parseRoots(pem ?? '', this.#origin))
    const unsubscribe = this.#informer.subscribe((changes) => {
      for (const { after } of changes) this.#changed(after)
    })
    signal.addEventListener('abort', () => {
      unsubscribe()
      this.#cancelTimer()
    })
    this.schedule()
  }

  /** Has a root that was replaced forgotten when its time is over. */
  schedule(): void {
    const { bundle, clock, onChange } = this.#options
    this.#cancelTimer()
    const next = bundle.nextChange()
    if (next === undefined) return
    this.#cancelTimer = clock.setTimer(
      () => {
        onChange()
        this.schedule()
      },
      Math.max(0, next - clock.now()),
    )
  }

  get #origin(): string {
    return `Secret ${this.#options.namespace}/${this.#name}, key ca.crt,`
  }

  #changed(pem: string | undefined): void {
    const { bundle, logger, report, onChange } = this.#options
    const secret = this.#name
    if (pem === undefined) {
      // Injector and controller sign with the root that they have read; only a new one changes that.
      logger.warn({ secret }, 'the root of the control plane was deleted; webhooks go on trusting it')
      report('RootDeleted', `${this.#origin} was deleted; a new root is made when a part of the control plane starts`)
      return
    }
    try {
      bundle.set(parseRoots(pem, this.#origin))
    } catch (error) {
      if (!isOsmError(error)) throw error
      logger.error({ secret, code: error.code, error: error.message }, 'webhooks keep trusting the roots known so far')
      report('RootInvalid', error.message)
      return
    }
    logger.info({ secret }, 'the root of the control plane was replaced')
    onChange()
    this.schedule()
  }
}
