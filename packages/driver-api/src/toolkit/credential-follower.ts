import type { Credential, DriverCertificates, Logger, ProxyRef } from '../controller-context.js'
import type { CredentialRef } from '../policy/parts.js'

/** A reference to a Secret. */
export type SecretCredentialRef = Extract<CredentialRef, { readonly kind: 'secret' }>

/** A reference to anything but the certificate of the proxy's own identity. */
export type NamedCredentialRef = Exclude<CredentialRef, { readonly kind: 'service' }>

/** What a {@link CredentialFollower} is made with. */
export interface CredentialFollowerOptions<Ref extends NamedCredentialRef> {
  /** Whose policy it is. */
  readonly proxy: ProxyRef
  /** Where the certificates come from. */
  readonly certificates: Pick<DriverCertificates, 'credentials'>
  /** Called for unavailable credentials. */
  readonly logger: Logger
  /** Called with the material of a reference, and with every replacement. */
  readonly onCredential: (ref: Ref, credential: Credential) => void
  /** Ends all. */
  readonly signal: AbortSignal
}

/** Follows the credentials that the policy of one proxy names, as long as it names them. */
export class CredentialFollower<Ref extends NamedCredentialRef = SecretCredentialRef> {
  readonly #options: CredentialFollowerOptions<Ref>
  readonly #followed = new Map<string, { readonly stop: AbortController; readonly done: Promise<void> }>()

  /** @param options - whose certificates are followed, and the callbacks */
  constructor(options: CredentialFollowerOptions<Ref>) {
    this.#options = options
  }

  /** Follows these, and no others. One that has ended is requested again. */
  follow(refs: readonly Ref[]): void {
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

  #start(key: string, ref: Ref): void {
    const stop = new AbortController()
    const done = this.#run(ref, AbortSignal.any([this.#options.signal, stop.signal])).finally(() => {
      if (this.#followed.get(key)?.stop === stop) this.#followed.delete(key)
    })
    this.#followed.set(key, { stop, done })
  }

  /** Never rejects: the policy in force may have moved on from the one that is followed, and then names it no more. */
  async #run(ref: Ref, signal: AbortSignal): Promise<void> {
    const { proxy, certificates, logger, onCredential } = this.#options
    try {
      for await (const credential of certificates.credentials(proxy, ref, signal))
        if (!signal.aborted) onCredential(ref, credential)
    } catch (error) {
      const { kind: _, ...names } = ref
      logger.warn(
        { proxy: proxy.uuid, ...names, error: String(error) },
        'a credential that the policy references is unavailable',
      )
    }
  }
}

/** Names of Kubernetes hold no slash. */
function keyOf(ref: NamedCredentialRef): string {
  return ref.kind === 'secret' ? `${ref.namespace}/${ref.name}` : ref.name
}
