import type { Principal } from '@osm-ts/driver-api'

/**
 * The SPIFFE ID of a principal. Undefined for a principal of another trust domain, whose form of URI is not known here.
 *
 * Certificates carry both, but only the URI can be trusted to mean an identity: DNS names also hold the names of the services that an identity backs,
 * so that in the trust domain `cluster.local` the service account `shop.eu` of a namespace `svc` has the principal `shop.eu.svc.cluster.local`, which
 * is the name of the service `shop` in the namespace `eu` as well.
 */
export function spiffeId(principal: Principal, trustDomain: string): string | undefined {
  const suffix = `.${trustDomain}`
  if (!principal.endsWith(suffix)) return undefined
  const identity = principal.slice(0, -suffix.length)
  // Service accounts may hold dots, namespaces never do.
  const dot = identity.lastIndexOf('.')
  if (dot <= 0 || dot === identity.length - 1) return undefined
  return `${spiffePrefix(trustDomain)}${identity.slice(0, dot)}/${identity.slice(dot + 1)}`
}

/** What the SPIFFE ID of every identity of a trust domain starts with. */
export function spiffePrefix(trustDomain: string): string {
  return `spiffe://${trustDomain}/`
}
