import { type DriverMetrics, isOsmError } from '@osm-ts/driver-api'
import { AUTHORITIES, type Authority, TresorProvider } from '@osm-ts/core'

import { mayPass, retryAtStartup, type StartupRetryOptions } from '../retry-at-startup.js'
import { WorkQueue } from '../work-queue.js'
import { caCertificateInformer } from './ca-certificate-informer.js'
import { caSecretName, SecretCaStore, type SecretCaStoreOptions } from './secret-ca-store.js'

/** What a {@link SharedAuthority} is opened with. */
export interface SharedAuthorityOptions extends SecretCaStoreOptions, StartupRetryOptions {
  readonly metrics: DriverMetrics
}

/**
 * The certificate authority that all programs and replicas of a mesh share by Secrets, live: a root that somebody
 * replaces there signs here from then on.
 */
export class SharedAuthority {
  /** Signs. Anyone who opened this closes it. */
  readonly provider: TresorProvider
  readonly #options: SharedAuthorityOptions
  readonly #store: SecretCaStore

  private constructor(provider: TresorProvider, store: SecretCaStore, options: SharedAuthorityOptions) {
    this.provider = provider
    this.#store = store
    this.#options = options
  }

  /**
   * Reads the roots, or makes them if no one has. Waits a minute for an API server that is away.
   *
   * @throws OsmError with a code of `OSM_CERT_*`
   */
  static async open(options: SharedAuthorityOptions): Promise<SharedAuthority> {
    const { clock, authorities = AUTHORITIES } = options
    const store = new SecretCaStore(options)
    const open = (): Promise<TresorProvider> =>
      TresorProvider.open({ store, clock, rootKey: { algorithm: 'ECDSA' }, authorities })
    return new SharedAuthority(await retryAtStartup('certificate authority', open, options), store, options)
  }

  /**
   * Takes up roots as they are replaced, until the signal aborts. A deleted Secret changes nothing, and neither does one
   * that can't be used.
   */
  async follow(signal: AbortSignal): Promise<void> {
    const { authorities = AUTHORITIES, clock, random, logger } = this.#options
    const queue = new WorkQueue({
      handle: (authority) => this.#take(authority as Authority), // only those are added
      concurrency: 1,
      clock,
      random,
      onFault: (authority, error, failures) => {
        if (failures === 1) logger.warn({ authority, reason: String(error) }, 'a new root cannot be read yet')
      },
    })
    const started = authorities.map((authority) => this.#watch(authority, () => queue.add(authority), signal))
    await Promise.all([queue.run(signal), ...started])
  }

  /** Calls back for what is there, which may be newer than what was opened, and for each change. */
  async #watch(authority: Authority, onChange: () => void, signal: AbortSignal): Promise<void> {
    const { namespace, secretName } = this.#options
    const informer = caCertificateInformer({ namespace, secretName, authority }, this.#options)
    informer.subscribe(onChange)
    try {
      await informer.start(signal)
      onChange()
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  async #take(authority: Authority): Promise<void> {
    const { logger, namespace, secretName } = this.#options
    const secret = `${namespace}/${caSecretName(secretName, authority)}`
    try {
      const stored = await this.#store.load(authority)
      if (stored === undefined) {
        logger.warn({ authority, secret }, 'the Secret of a root was deleted; it signs until there is another one')
        return
      }
      if (!this.provider.take(authority, stored)) return
      const { serialNumber } = this.provider.rootCertificate(authority)
      const trusted = this.provider.trustBundle(authority).length
      logger.info({ authority, secret, serialNumber, trusted }, 'took up the roots of a Secret')
    } catch (error) {
      if (!isOsmError(error) || mayPass(error)) throw error
      logger.error(
        { authority, secret, code: error.code, reason: error.message },
        'the previous root continues to sign',
      )
    }
  }
}
