import type { ServiceAccountRef } from '@osm-ts/driver-api'

import { tryParseProxyCommonName } from './proxy-identity.js'
import type { TrustDomain } from './mesh-domains.js'
import { splitAccount, withoutDomain } from './service-identity.js'

/**
 * The service account of a DNS name that a caller from outside the mesh may have under the trust domain, as OSM's documents name ingress gateways:
 * `<service account>.<namespace>.<trust domain>`.
 *
 * Undefined for all other names: those of services and of sidecars, and those outside the trust domain. Whether the account has workloads in the mesh
 * is for the caller to find out.
 */
export function accountOfOutsideName(
  name: string,
  domains: { readonly trustDomain: string; readonly clusterDomain: string },
): ServiceAccountRef | undefined {
  const trustDomain = domains.trustDomain as TrustDomain // only compared with
  const services = `svc.${domains.clusterDomain}`
  if (name === services || name.endsWith(`.${services}`)) return undefined
  if (tryParseProxyCommonName(name, trustDomain) !== undefined) return undefined
  const local = withoutDomain(name, trustDomain)
  return local === undefined ? undefined : splitAccount(local)
}
