import { join } from 'node:path'

import {
  type Certificate,
  FileCaStore,
  issueLeaf,
  TresorProvider,
  certificateNames,
  parseMeshDomains,
  systemClock,
} from '@osm-ts/core'
import type { CaStore, CertificateNames, CertificateSubject } from '@osm-ts/core'

/** Issues certificates by the roots of a mesh, as no one but the mesh should: for tests of what a wrong identity can do. */
export async function issueLike(
  stateFolder: string,
  subject: CertificateSubject,
): Promise<{ readonly certificate: Certificate; readonly workloadRoot: string; readonly controlPlaneRoot: string }> {
  const names = certificateNames(
    subject,
    parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' }),
  )
  return issue(rootsIn(stateFolder), names)
}

/** Issues a certificate with any names by the root of workloads. */
export async function issueNames(
  store: CaStore,
  { commonName, dnsNames }: { readonly commonName: string; readonly dnsNames: readonly string[] },
): Promise<{ readonly chain: string; readonly privateKey: string }> {
  const { certificate } = await issue(store, { kind: 'service', commonName, dnsNames, uris: [], ipAddresses: [] })
  return { chain: certificate.chain, privateKey: certificate.privateKey() }
}

/** Where a mesh of this machine keeps its roots. */
export function rootsIn(stateFolder: string): CaStore {
  return new FileCaStore(join(stateFolder, 'ca'))
}

async function issue(
  store: CaStore,
  names: CertificateNames,
): Promise<{ readonly certificate: Certificate; readonly workloadRoot: string; readonly controlPlaneRoot: string }> {
  const provider = await TresorProvider.open({
    store,
    clock: systemClock,
    rootKey: { algorithm: 'ECDSA' },
  })
  try {
    const certificate = await issueLeaf(
      provider,
      { ...names, validityMs: 3_600_000, key: { algorithm: 'ECDSA' } },
      AbortSignal.timeout(10_000),
    )
    return {
      certificate,
      workloadRoot: provider.trustBundle('workload').join('\n'),
      controlPlaneRoot: provider.trustBundle('control-plane').join('\n'),
    }
  } finally {
    provider.close()
  }
}
