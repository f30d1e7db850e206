import type { CertificateProvider, ProviderFault, SignedLeaf, SigningRequest } from './certificate-provider.js'
import type { RootCertificate } from './certificate.js'
import { authorityOf, type Authority } from './kinds.js'

/** One provider for each authority of the mesh. */
export class SplitProvider implements CertificateProvider {
  readonly #providers: Readonly<Record<Authority, CertificateProvider>>

  constructor(providers: Readonly<Record<Authority, CertificateProvider>>) {
    this.#providers = providers
  }

  /** Of the provider for workloads, which is what users choose. */
  get name(): string {
    return this.#providers.workload.name
  }

  get signsPublicKeys(): boolean {
    return this.#providers.workload.signsPublicKeys
  }

  sign(request: SigningRequest, signal: AbortSignal): Promise<SignedLeaf> {
    return this.#providers[authorityOf(request.kind)].sign(request, signal)
  }

  rootCertificate(authority: Authority): RootCertificate {
    return this.#providers[authority].rootCertificate(authority)
  }

  trustBundle(authority: Authority): readonly string[] {
    return this.#providers[authority].trustBundle(authority)
  }

  /** Each provider is heard for its own authority only: the built-in CA may have both. */
  onRootChange(listener: (authority: Authority) => void): () => void {
    const ends = (['control-plane', 'workload'] as const).map((own) =>
      this.#providers[own].onRootChange((authority) => {
        if (authority === own) listener(authority)
      }),
    )
    return () => {
      for (const end of ends) end()
    }
  }

  faults(): readonly ProviderFault[] {
    return [...this.#providers['control-plane'].faults(), ...this.#providers.workload.faults()]
  }
}
