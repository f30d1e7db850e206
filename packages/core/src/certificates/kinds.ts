/**
 * Who signs. The two are independent: different keys, different roots, and every verifier trusts exactly one of them.
 * That is what keeps a service certificate from opening a control-plane port, whatever names it holds.
 */
export type Authority = 'control-plane' | 'workload'

/** Both authorities, in the order in which they are made. */
export const AUTHORITIES: readonly Authority[] = ['control-plane', 'workload']

/**
 * What a certificate is for: `proxy` and `control-plane` are the two ends of the connection between a sidecar and the
 * control plane, `service` is both ends of a connection between sidecars. `outside` is for callers that are not part of the
 * mesh: it holds no identity of the mesh, and opens nothing but what is open to its names.
 */
export type LeafKind = 'proxy' | 'service' | 'control-plane' | 'outside'

/** Kinds of certificates, roots included. */
export type CertificateKind = LeafKind | 'root'

/** The authority that signs certificates of a kind. */
export function authorityOf(kind: LeafKind): Authority {
  return kind === 'service' || kind === 'outside' ? 'workload' : 'control-plane'
}
