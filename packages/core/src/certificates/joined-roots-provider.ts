import type { CertificateProvider, ProviderFault, SignedLeaf, SigningRequest } from './certificate-provider.js'
import type { RootCertificate } from './certificate.js'
import type { Authority } from './kinds.js'

/** Roots of an authority that gives certificates to sidecars by itself. */
export interface OtherRoots {
  /** PEM, of the trust domain of the mesh. */
  current(): readonly string[]
  /** Calls back when other roots or faults are known than before. The result ends it. */
  onChange(listener: () => void): () => void
  faults(): readonly ProviderFault[]
}

/**
 * A provider, and roots that sidecars trust beside its own: some sidecars have certificates that the provider has not signed. Those of the control plane stay as they
 * are, so that such a certificate opens no port of it.
 */
export class JoinedRootsProvider implements CertificateProvider {
  readonly #provider: CertificateProvider
  readonly #others: OtherRoots

  constructor(provider: CertificateProvider, others: OtherRoots) {
    this.#provider = provider
    this.#others = others
  }

  get name(): string {
    return this.#provider.name
  }

  get signsPublicKeys(): boolean {
    return this.#provider.signsPublicKeys
  }

  sign(request: SigningRequest, signal: AbortSignal): Promise<SignedLeaf> {
    return this.#provider.sign(request, signal)
  }

  rootCertificate(authority: Authority): RootCertificate {
    return this.#provider.rootCertificate(authority)
  }

  trustBundle(authority: Authority): readonly string[] {
    const own = this.#provider.trustBundle(authority)
    if (authority === 'control-plane') return own
    const known = new Set(own.map((pem) => pem.trim()))
    return [...own, ...this.#others.current().filter((pem) => !known.has(pem.trim()))]
  }

  onRootChange(listener: (authority: Authority) => void): () => void {
    let told = this.#others.current().join('\n')
    const endOwn = this.#provider.onRootChange(listener)
    const endOthers = this.#others.onChange(() => {
      const roots = this.#others.current().join('\n')
      if (roots === told) return
      told = roots
      listener('workload')
    })
    return () => {
      endOwn()
      endOthers()
    }
  }

  faults(): readonly ProviderFault[] {
    return [...this.#provider.faults(), ...this.#others.faults()]
  }
}
