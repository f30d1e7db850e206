import { randomUUID } from 'node:crypto'

import { OsmError, type ProxyCommonName, type ProxyUUID, type ServiceAccountRef } from '@osm-ts/driver-api'

import { quoted } from './dns-name.js'
import type { IdentityErrorCode } from './errors.js'
import type { TrustDomain } from './mesh-domains.js'
import { serviceIdentity, splitAccount, withoutDomain } from './service-identity.js'

/** Who a proxy is: one sidecar of one workload that runs under a service account. */
export interface ProxyIdentity {
  readonly uuid: ProxyUUID
  readonly serviceAccount: ServiceAccountRef
}

/** The second label of each proxy's common name. */
const KIND = 'sidecar'

/** RFC 9562 (formerly RFC 4122) text form in lower case, without the nil and max values. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** @throws OsmError with code `OSM_IDENTITY_PROXY_UUID` */
export function parseProxyUUID(text: string): ProxyUUID {
  if (!UUID.test(text))
    throw new OsmError<IdentityErrorCode>('OSM_IDENTITY_PROXY_UUID', `${quoted(text)}: expected a UUID in lower case`)
  return text as ProxyUUID // checked above
}

/** A fresh id for a sidecar about to be admitted. */
export function newProxyUUID(): ProxyUUID {
  return randomUUID() as ProxyUUID // version 4, lower case
}

/**
 * The common name of a proxy's certificate: `<uuid>.sidecar.<service account>.<namespace>.<trust domain>`.
 *
 * @throws OsmError with code `OSM_IDENTITY_PROXY_UUID`, `OSM_IDENTITY_SERVICE_ACCOUNT` or `OSM_IDENTITY_NAMESPACE`
 */
export function proxyCommonName(proxy: ProxyIdentity, trustDomain: TrustDomain): ProxyCommonName {
  const uuid = parseProxyUUID(proxy.uuid)
  return `${uuid}.${KIND}.${serviceIdentity(proxy.serviceAccount)}.${trustDomain}` as ProxyCommonName // all parts checked
}

/**
 * Reads the common name of a proxy from both ends: two fixed labels on the left, trust domain and namespace on the
 * right, and the service account, which may hold dots, is what remains. A UUID has no dot, so no service account can
 * reach into the labels before it: the holder of an account named `<uuid>.sidecar.victim` gets `<own
 * uuid>.sidecar.<uuid>.sidecar.victim.…`, which reads as that account and nothing else.
 *
 * One collision remains and is meant to: the *principal* of an account named `<uuid>.sidecar.victim` is letter for
 * letter the common name of victim's proxy. No parser can tell the two apart, so none tries. They are told apart by the
 * root that signed the certificate: principals come from the workload root, proxy names from the control-plane root,
 * and each verifier trusts exactly one of them. Call this only with a name that was verified against the control-plane
 * root; `PeerVerifier` is the way to do so.
 *
 * @throws OsmError with code `OSM_IDENTITY_PROXY_NAME`
 */
export function parseProxyCommonName(text: string, trustDomain: TrustDomain): ProxyIdentity {
  const proxy = tryParseProxyCommonName(text, trustDomain)
  if (proxy !== undefined) return proxy
  throw new OsmError<IdentityErrorCode>(
    'OSM_IDENTITY_PROXY_NAME',
    `${quoted(text)}: expected <uuid>.${KIND}.<service account>.<namespace>.${trustDomain}`,
  )
}

/** As {@link parseProxyCommonName}, for callers to whom another kind of name is no error. */
export function tryParseProxyCommonName(text: string, trustDomain: TrustDomain): ProxyIdentity | undefined {
  const local = withoutDomain(text, trustDomain)
  if (local === undefined) return undefined
  const uuidLength = 36
  const uuid = local.slice(0, uuidLength)
  const infix = `.${KIND}.`
  if (!UUID.test(uuid) || !local.startsWith(infix, uuidLength)) return undefined
  const serviceAccount = splitAccount(local.slice(uuidLength + infix.length))
  return serviceAccount && { uuid: uuid as ProxyUUID, serviceAccount } // matched UUID above
}
