import { MemoryCaStore } from '../../src/certificates/ca-store.js'
import { systemClock } from '../../src/certificates/clock.js'
import { issueLeaf } from '../../src/certificates/issue-leaf.js'
import { TresorProvider } from '../../src/certificates/tresor-provider.js'

/** Members of a Secret of type kubernetes.io/tls with the roots beside, decoded. */
export interface TlsData extends Readonly<Record<string, string>> {
  readonly 'tls.crt': string
  readonly 'tls.key': string
  readonly 'ca.crt': string
}

/** Certificates of an authority that is none of the mesh's, one for each name. */
export async function partnerCertificates(...names: readonly string[]): Promise<readonly TlsData[]> {
  const rootKey = { algorithm: 'ECDSA' } as const
  const provider = await TresorProvider.open({ store: new MemoryCaStore(), clock: systemClock, rootKey })
  try {
    return await Promise.all(
      names.map(async (name) => {
        const fields = { kind: 'service', commonName: name, dnsNames: [name], uris: [], ipAddresses: [] } as const
        const request = { ...fields, validityMs: 3_600_000, key: rootKey }
        const certificate = await issueLeaf(provider, request, new AbortController().signal)
        return {
          'tls.crt': certificate.chain,
          'tls.key': certificate.privateKey(),
          'ca.crt': provider.trustBundle('workload').join(''),
        }
      }),
    )
  } finally {
    provider.close()
  }
}
