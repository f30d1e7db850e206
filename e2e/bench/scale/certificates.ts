import { certificateNames, issueLeaf, parseMeshDomains, systemClock, TresorProvider } from '@osm-ts/core'
import { type KubernetesApi, SecretCaStore } from '@osm-ts/kubernetes'

import type { ServerKey } from '../baseline-server.js'
import { OSM_NAMESPACE, type ScaleProxy } from './mesh.js'
import type { PreparedProxy } from './proxies.js'

const VALIDITY_MS = 24 * 3_600_000
const key = { algorithm: 'ECDSA' } as const

/** What the mesh's own authority gives a benchmark. */
export interface MeshCertificates {
  readonly proxies: readonly PreparedProxy[]
  /** Whom proxies trust as their control plane, PEM. */
  readonly controlPlaneRoots: string
  /** For the floor: a certificate by which it is taken for the control plane, and whom it lets in, all PEM. */
  readonly floor: ServerKey
  /** Name by which proxies know their control plane. */
  readonly serverName: string
}

/** Issues what the injector would have issued, from the roots that the controller has stored. */
export async function issueCertificates(
  api: KubernetesApi,
  proxies: readonly ScaleProxy[],
  signal: AbortSignal,
): Promise<MeshCertificates> {
  const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
  const store = new SecretCaStore({ api, namespace: OSM_NAMESPACE, secretName: 'osm-ca-bundle', labels: {}, signal })
  const authority = await TresorProvider.open({ store, clock: systemClock, rootKey: key })
  const serverName = `osm-controller.${OSM_NAMESPACE}.svc.${domains.clusterDomain}`
  try {
    const prepared: PreparedProxy[] = []
    for (const [index, { uuid, account }] of proxies.entries()) {
      const names = certificateNames({ kind: 'proxy', uuid, serviceAccount: account }, domains)
      const issued = await issueLeaf(authority, { ...names, validityMs: VALIDITY_MS, key }, signal)
      prepared.push({ index, nodeId: names.commonName, chain: issued.chain, privateKey: issued.privateKey() })
    }
    const server = certificateNames(
      { kind: 'control-plane', name: 'ads', dnsNames: [serverName], ipAddresses: [] },
      domains,
    )
    const issued = await issueLeaf(authority, { ...server, validityMs: VALIDITY_MS, key }, signal)
    // Proxies show the control plane certificates of the same root.
    const controlPlaneRoots = authority.trustBundle('control-plane').join('\n')
    return {
      proxies: prepared,
      controlPlaneRoots,
      floor: { chain: issued.chain, privateKey: issued.privateKey(), clientRoots: controlPlaneRoots },
      serverName,
    }
  } finally {
    authority.close()
  }
}
