import { isIP } from 'node:net'

import { type CertificateSubject, certificateNames, type MeshDomains, type VerifiedPeer } from '@osm-ts/core'

/** First label of the name that controllers know each other by. */
const NAME = 'osm-controller-replica'

/** The certificate that a controller shows to the others, as a server and as a client. */
export const replicaSubject = {
  kind: 'control-plane',
  name: NAME,
  dnsNames: [],
  ipAddresses: [],
} as const satisfies CertificateSubject

/** The name in it. */
export function replicaName(domains: MeshDomains): string {
  return certificateNames(replicaSubject, domains).commonName
}

/** True for a controller: neither a proxy nor another program of the control plane, whose certificates are of the same root. */
export function isReplica(peer: VerifiedPeer, domains: MeshDomains): boolean {
  return peer.kind === 'control-plane' && peer.dnsNames.includes(replicaName(domains))
}

/**
 * `host:port` under which the other replicas reach this one; undefined where nothing says.
 *
 * @param bindAddress - what the servers of the program listen on
 * @param podIP - what Kubernetes says the address of the pod is
 */
export function ownAddress(bindAddress: string, podIP: string | undefined, port: number): string | undefined {
  const isAny = bindAddress === '' || bindAddress === '0.0.0.0' || bindAddress === '::'
  const host = isAny ? podIP : bindAddress
  if (host === undefined || host === '') return undefined
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`
}
