import { X509Certificate } from 'node:crypto'

import {
  certificateNames,
  issueLeaf,
  LeafKeys,
  MemoryCaStore,
  parseMeshDomains,
  systemClock,
  TresorProvider,
} from '@osm-ts/core'

import { createCertificateFloor } from './certificate-floor.js'

/** How fast certificates are issued, in certificates per second of CPU time. */
export interface CertificateRatio {
  readonly floor: number
  readonly product: number
  /** `product / floor`; 1 is as fast as the bare calls. */
  readonly ratio: number
}

const ROUNDS = 7
const PER_ROUND = 1_000

/**
 * Issues service certificates by the built-in CA, and the same certificates by the floor, in turns; counts the best
 * round of each, which is the one that the rest of the machine disturbed least.
 */
export async function measureCertificateRatio(): Promise<CertificateRatio> {
  const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
  const subject = {
    kind: 'service',
    serviceAccount: { namespace: 'bookstore', name: 'bookstore-v1' },
    services: ['bookstore', 'bookstore-v1'].map((name) => ({ namespace: 'bookstore', name })),
  } as const
  const names = certificateNames(subject, domains)
  const floor = createCertificateFloor({ ...names, uri: names.uris[0] ?? '' })
  const provider = await TresorProvider.open({
    store: new MemoryCaStore(),
    clock: systemClock,
    rootKey: { algorithm: 'ECDSA' },
  })
  const keys = new LeafKeys()
  const { signal } = new AbortController()
  const issue = () => {
    // Names are created again for each certificate, as the certificate manager does.
    const request = {
      ...certificateNames(subject, domains),
      validityMs: 86_400_000,
      key: { algorithm: 'ECDSA' } as const,
    }
    return issueLeaf(provider, request, signal, (spec) => keys.take(spec))
  }
  assertAlike(floor.issue().der, new X509Certificate((await issue()).chain).raw)

  let floorMs = Number.POSITIVE_INFINITY
  let productMs = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round += 1) {
    floorMs = Math.min(floorMs, await cpuMs(async () => floor.issue()))
    productMs = Math.min(productMs, await cpuMs(issue))
  }
  provider.close()
  keys.close()
  return { floor: PER_ROUND * (1000 / floorMs), product: PER_ROUND * (1000 / productMs), ratio: floorMs / productMs }
}

async function cpuMs(issue: () => Promise<unknown>): Promise<number> {
  const start = process.cpuUsage()
  for (let count = 0; count < PER_ROUND; count += 1) await issue()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

/** A comparison of different certificates would prove nothing. */
function assertAlike(floor: Buffer, product: Buffer): void {
  const [a, b] = [new X509Certificate(floor), new X509Certificate(product)]
  const facts = (each: X509Certificate) =>
    JSON.stringify([each.subject, each.issuer, each.subjectAltName, each.keyUsage, each.ca])
  // Serial number and signature vary by a byte or two.
  if (facts(a) !== facts(b) || Math.abs(floor.length - product.length) > 6)
    throw new Error(
      `the floor issues another certificate (${floor.length} bytes) than the product (${product.length} bytes)`,
    )
}
