import { OsmError, type MeshService, type ServiceAccountRef } from '@osm-ts/driver-api'

import { isDnsLabel, isDnsSubdomain, quoted } from './dns-name.js'
import type { IdentityErrorCode } from './errors.js'
import type { ClusterDomain, MeshDomains } from './mesh-domains.js'
import { principalOf } from './service-identity.js'

/**
 * The name that clients send as SNI for a service: `<service>.<namespace>.svc.<cluster domain>`.
 *
 * @throws OsmError with code `OSM_IDENTITY_SERVICE` or `OSM_IDENTITY_NAMESPACE`
 */
export function serverNameOf(service: MeshService, clusterDomain: ClusterDomain): string {
  if (!isDnsSubdomain(service.name))
    throw new OsmError<IdentityErrorCode>(
      'OSM_IDENTITY_SERVICE',
      `${quoted(service.name)}: expected a DNS-1123 subdomain as the name of a service`,
    )
  if (!isDnsLabel(service.namespace))
    throw new OsmError<IdentityErrorCode>(
      'OSM_IDENTITY_NAMESPACE',
      `${quoted(service.namespace)}: expected a DNS-1123 label as the name of a namespace`,
    )
  return `${service.name}.${service.namespace}.svc.${clusterDomain}`
}

/** The service behind a server name, or undefined if the text is none of this cluster domain. */
export function parseServerName(text: string, clusterDomain: ClusterDomain): MeshService | undefined {
  const suffix = `.svc.${clusterDomain}`
  if (!text.endsWith(suffix)) return undefined
  const local = text.slice(0, -suffix.length)
  const dot = local.lastIndexOf('.')
  const service = { namespace: local.slice(dot + 1), name: local.slice(0, Math.max(dot, 0)) }
  return isDnsSubdomain(service.name) && isDnsLabel(service.namespace) ? service : undefined
}

/**
 * True if the principal of the account is also the server name of a service, such as the account `bookstore.default` in
 * a namespace `svc` where trust domain and cluster domain are equal. Both texts are DNS SANs of service certificates,
 * so anyone who backs the service would pass for the account and the other way round. No certificate is issued for such an
 * account.
 */
export function readsAsServerName(account: ServiceAccountRef, domains: MeshDomains): boolean {
  return parseServerName(principalOf(account, domains.trustDomain), domains.clusterDomain) !== undefined
}
