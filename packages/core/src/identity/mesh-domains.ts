import { OsmError, type Branded } from '@osm-ts/driver-api'

import { isDnsDomain, quoted } from './dns-name.js'
import type { IdentityErrorCode } from './errors.js'

/** The domain that every identity of the mesh ends in. It occurs in identities only, never in names of services. */
export type TrustDomain = Branded<string, 'TrustDomain'>

/** The DNS domain of the cluster's services, `cluster.local` unless the cluster says otherwise. */
export type ClusterDomain = Branded<string, 'ClusterDomain'>

/** The two domains that names in certificates are made from. */
export interface MeshDomains {
  readonly trustDomain: TrustDomain
  readonly clusterDomain: ClusterDomain
}

/** @throws OsmError with code `OSM_IDENTITY_TRUST_DOMAIN` */
export function parseTrustDomain(text: string): TrustDomain {
  checkDomain(text, 'trust domain', 'OSM_IDENTITY_TRUST_DOMAIN')
  return text as TrustDomain // checked above
}

/** @throws OsmError with code `OSM_IDENTITY_CLUSTER_DOMAIN` */
export function parseClusterDomain(text: string): ClusterDomain {
  checkDomain(text, 'cluster domain', 'OSM_IDENTITY_CLUSTER_DOMAIN')
  return text as ClusterDomain // checked above
}

/**
 * The domains of a mesh, checked together.
 *
 * They may be equal, and by default they are. What must not be is a trust domain inside `svc.<cluster domain>`: then
 * each principal `<service account>.<namespace>.<trust domain>` could be read as the server name of some service.
 *
 * @throws OsmError with code `OSM_IDENTITY_TRUST_DOMAIN`, `OSM_IDENTITY_CLUSTER_DOMAIN` or
 * `OSM_IDENTITY_DOMAINS_OVERLAP`
 */
export function parseMeshDomains(text: { readonly trustDomain: string; readonly clusterDomain: string }): MeshDomains {
  const trustDomain = parseTrustDomain(text.trustDomain)
  const clusterDomain = parseClusterDomain(text.clusterDomain)
  const services = `svc.${clusterDomain}`
  if (trustDomain === services || trustDomain.endsWith(`.${services}`)) {
    throw new OsmError<IdentityErrorCode>(
      'OSM_IDENTITY_DOMAINS_OVERLAP',
      `trust domain ${quoted(trustDomain)} lies under ${quoted(services)}, where services have their names; choose one outside of it`,
    )
  }
  return { trustDomain, clusterDomain }
}

function checkDomain(text: string, what: string, code: IdentityErrorCode): void {
  if (isDnsDomain(text)) return
  throw new OsmError<IdentityErrorCode>(
    code,
    `${what} ${quoted(text)}: expected lower-case DNS labels of at most 63 characters joined by dots, 253 characters in all`,
  )
}
