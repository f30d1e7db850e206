import {
  defaultCertificateSettings,
  MemoryCaStore,
  MeshCertificateManager,
  type MeshDomains,
  parseMeshDomains,
  systemClock,
  TresorProvider,
} from '@osm-ts/core'

/** A mesh's own authority, which is in memory alone, and who issues by it. */
export interface Issuer {
  readonly provider: TresorProvider
  readonly issuer: MeshCertificateManager
  readonly domains: MeshDomains
  /** Verify the control plane, PEM. */
  readonly roots: string
}

/**
 * Makes an authority.
 *
 * @param signal - ends the issuing
 */
export async function startIssuer(signal: AbortSignal): Promise<Issuer> {
  const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
  const clock = systemClock
  const provider = await TresorProvider.open({ store: new MemoryCaStore(), clock, rootKey: { algorithm: 'ECDSA' } })
  const settings = () => defaultCertificateSettings
  const issuer = new MeshCertificateManager({ provider, settings, domains, clock, random: Math.random, signal })
  return { provider, issuer, domains, roots: provider.trustBundle('control-plane').join('\n') }
}
