import {
  OsmError,
  type Principal,
  type ServiceAccountRef,
  type ServiceIdentity,
  type SpiffeId,
} from '@osm-ts/driver-api'

import { isDnsLabel, isDnsSubdomain, quoted } from './dns-name.js'
import type { IdentityErrorCode } from './errors.js'
import type { TrustDomain } from './mesh-domains.js'

/**
 * Names of service identities.
 *
 * The name of a service account may hold dots, the name of a namespace never does. All dotted forms are therefore read
 * from the right against a known trust domain, which makes each of them unambiguous: two different identities never
 * have the same text, and every text that a parser accepts is exactly what the constructor makes of the result.
 */

/** @throws OsmError with code `OSM_IDENTITY_SERVICE_ACCOUNT` or `OSM_IDENTITY_NAMESPACE` */
export function serviceIdentity(account: ServiceAccountRef): ServiceIdentity {
  checkServiceAccount(account)
  return `${account.name}.${account.namespace}` as ServiceIdentity // both halves checked
}

/** @throws OsmError with code `OSM_IDENTITY_SERVICE_IDENTITY` */
export function parseServiceIdentity(text: string): ServiceAccountRef {
  return splitAccount(text) ?? fail('OSM_IDENTITY_SERVICE_IDENTITY', text, '<service account>.<namespace>')
}

/** @throws OsmError with code `OSM_IDENTITY_SERVICE_ACCOUNT` or `OSM_IDENTITY_NAMESPACE` */
export function principalOf(account: ServiceAccountRef, trustDomain: TrustDomain): Principal {
  return `${serviceIdentity(account)}.${trustDomain}` as Principal // all three parts checked
}

/** @throws OsmError with code `OSM_IDENTITY_PRINCIPAL` */
export function parsePrincipal(text: string, trustDomain: TrustDomain): ServiceAccountRef {
  const identity = withoutDomain(text, trustDomain)
  const account = identity === undefined ? undefined : splitAccount(identity)
  return account ?? fail('OSM_IDENTITY_PRINCIPAL', text, `<service account>.<namespace>.${trustDomain}`)
}

/** @throws OsmError with code `OSM_IDENTITY_SERVICE_ACCOUNT` or `OSM_IDENTITY_NAMESPACE` */
export function spiffeIdOf(account: ServiceAccountRef, trustDomain: TrustDomain): SpiffeId {
  checkServiceAccount(account)
  return `spiffe://${trustDomain}/${account.name}/${account.namespace}` as SpiffeId // all three parts checked
}

/** @throws OsmError with code `OSM_IDENTITY_SPIFFE_ID` */
export function parseSpiffeId(text: string, trustDomain: TrustDomain): ServiceAccountRef {
  const prefix = `spiffe://${trustDomain}/`
  const [name, namespace, ...rest] = text.startsWith(prefix) ? text.slice(prefix.length).split('/') : []
  if (
    name === undefined ||
    namespace === undefined ||
    rest.length > 0 ||
    !isDnsSubdomain(name) ||
    !isDnsLabel(namespace)
  )
    return fail('OSM_IDENTITY_SPIFFE_ID', text, `${prefix}<service account>/<namespace>`)
  return { namespace, name }
}

/** @throws OsmError with code `OSM_IDENTITY_SERVICE_ACCOUNT` or `OSM_IDENTITY_NAMESPACE` */
export function checkServiceAccount(account: ServiceAccountRef): void {
  if (!isDnsSubdomain(account.name))
    fail('OSM_IDENTITY_SERVICE_ACCOUNT', account.name, 'a DNS-1123 subdomain as the name of a service account')
  if (!isDnsLabel(account.namespace))
    fail('OSM_IDENTITY_NAMESPACE', account.namespace, 'a DNS-1123 label as the name of a namespace')
}

/** `<service account>.<namespace>`, read from the right; undefined if the text is something else. */
export function splitAccount(text: string): ServiceAccountRef | undefined {
  const dot = text.lastIndexOf('.')
  if (dot === -1) return undefined
  const account = { namespace: text.slice(dot + 1), name: text.slice(0, dot) }
  return isDnsSubdomain(account.name) && isDnsLabel(account.namespace) ? account : undefined
}

/** What is in front of `.<trust domain>`; undefined if the text does not end so. */
export function withoutDomain(text: string, trustDomain: TrustDomain): string | undefined {
  const suffix = `.${trustDomain}`
  return text.endsWith(suffix) ? text.slice(0, -suffix.length) : undefined
}

function fail(code: IdentityErrorCode, text: string, expected: string): never {
  throw new OsmError<IdentityErrorCode>(code, `${quoted(text)}: expected ${expected}`)
}
