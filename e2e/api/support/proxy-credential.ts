import { certificateNames, issueLeaf, parseMeshDomains, systemClock, TresorProvider } from '@osm-ts/core'
import { type KubernetesApi, SecretCaStore } from '@osm-ts/kubernetes'
import type { ProxyUUID } from '@osm-ts/driver-api'

const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })

/** Which proxy, and where its control plane is. */
export interface ProxyCredentialOptions {
  readonly api: KubernetesApi
  readonly osmNamespace: string
  readonly uuid: ProxyUUID
  readonly account: { readonly namespace: string; readonly name: string }
  readonly signal: AbortSignal
}

/** What a sidecar is started with. */
export interface ProxyCredential {
  readonly commonName: string
  /** PEM, the leaf first. */
  readonly chain: string
  /** PEM. */
  readonly privateKey: string
  /** PEM of the roots of the control plane. */
  readonly roots: string
}

/** Has the certificate of a sidecar issued, as the injector does, from the Secret with the root. */
export async function proxyCredential(options: ProxyCredentialOptions): Promise<ProxyCredential> {
  const { api, osmNamespace, uuid, account, signal } = options
  const store = new SecretCaStore({ api, namespace: osmNamespace, secretName: 'osm-ca-bundle', labels: {}, signal })
  const key = { algorithm: 'ECDSA' } as const
  const authority = await TresorProvider.open({ store, clock: systemClock, rootKey: key })
  try {
    const names = certificateNames({ kind: 'proxy', uuid, serviceAccount: account }, domains)
    const certificate = await issueLeaf(authority, { ...names, validityMs: 3_600_000, key }, signal)
    return {
      commonName: names.commonName,
      chain: certificate.chain,
      privateKey: certificate.privateKey(),
      roots: authority.trustBundle('control-plane').join('\n'),
    }
  } finally {
    authority.close()
  }
}
