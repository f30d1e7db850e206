import type { Credential, DriverCertificates, Logger, ProxyRef } from '../controller-context.js'
import type { CredentialRef } from '../policy/parts.js'

/** A reference to a Secret. */
export type SecretCredentialRef = Extract<CredentialRef, { readonly kind: 'secret' }>

/** What a {@link CredentialFollower} is made with. */
export interface CredentialFollowerOptions {
  /** Whose policy it is. */
  readonly proxy: ProxyRef
  /** Where the certificates come from. */
  readonly certificates: Pick<DriverCertificates, 'credentials'>
  /** Told of those that are not to be had. */
  readonly logger: Logger
  /** Told of what stands in a Secret, and of whatever replaces it. */
  readonly onCredential: (ref: SecretCredentialRef, credential: Credential) => void
  /** Ends all. */
  readonly signal: AbortSignal
}

/** Follows the client certificates that the policy of one proxy names, as long as it names them. */
export class CredentialFollower {
  readonly #options: CredentialFollowerOptions
  readonly #followed = new Map<string, { readonly stop: AbortController; readonly done: Promise<void> }>()

  /** @param options - whose certificates are followed, and who is told */
  constructor(options: CredentialFollowerOptions) {
    this.#options = options
  }

  /** Follows these, and no others. One that has ended is asked for again. */
  follow(refs: readonly SecretCredentialRef[]): void {
    const wanted = new Map(refs.map((ref) => [keyOf(ref), ref]))
    for (const [key, { stop }] of this.#followed) {
      if (wanted.has(key)) continue
      stop.abort()
      this.#followed.delete(key)
    }
    for (const [key, ref] of wanted) if (!this.#followed.has(key)) this.#start(key, ref)
  }

  /** Resolves when nothing is followed any more, after the signal has aborted. */
  async finished(): Promise<void> {
    await Promise.all([...this.#followed.values()].map(({ done }) => done))
  }

  #start(key: string, ref: SecretCredentialRef): void {
    const stop = new AbortController()
    const done = this.#run(ref, AbortSignal.any([this.#options.signal, stop.signal])).finally(() => {
      if (this.#followed.get(key)?.stop === stop) this.#followed.delete(key)
    })
    this.#followed.set(key, { stop, done })
  }

  /** Never rejects: the policy in force may have moved on from the one that is followed, and then names the Secret no more. */
  async #run(ref: SecretCredentialRef, signal: AbortSignal): Promise<void> {
    const { proxy, certificates, logger, onCredential } = this.#options
    try {
      for await (const credential of certificates.credentials(proxy, ref, signal))
        if (!signal.aborted) onCredential(ref, credential)
    } catch (error) {
      const { namespace, name } = ref
      logger.warn(
        { proxy: proxy.uuid, namespace, name, error: String(error) },
        'a client certificate that the policy names is not to be had',
      )
    }
  }
}

/** Names of Kubernetes hold no slash. */
function keyOf({ namespace, name }: SecretCredentialRef): string {
  return `${namespace}/${name}`
}
