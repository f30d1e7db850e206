import {
  OsmError,
  type MeshService,
  type Principal,
  type ProxyCommonName,
  type ProxyUUID,
  type ServiceAccountRef,
} from '@osm-ts/driver-api'
import { ipOctets } from '@osm-ts/driver-api/toolkit'

import { isDnsDomain, isDnsLabel, isDnsSubdomain, quoted } from '../identity/dns-name.js'
import { accountOfOutsideName } from '../identity/outside-name.js'
import type { MeshDomains } from '../identity/mesh-domains.js'
import { proxyCommonName, tryParseProxyCommonName } from '../identity/proxy-identity.js'
import { readsAsServerName, serverNameOf } from '../identity/server-name.js'
import { principalOf, spiffeIdOf } from '../identity/service-identity.js'
import type { LeafNames } from './certificate-provider.js'
import type { CertificateErrorCode } from './errors.js'
import type { KeyHolder } from './key-holder.js'
import type { LeafKind } from './kinds.js'

/** One sidecar, about to be admitted. */
export interface ProxySubject {
  readonly kind: 'proxy'
  readonly uuid: ProxyUUID
  readonly serviceAccount: ServiceAccountRef
  /** Absent: a key is made with the certificate. */
  readonly holder?: KeyHolder
}

/** A service identity and every service that it backs. */
export interface ServiceSubject {
  readonly kind: 'service'
  readonly serviceAccount: ServiceAccountRef
  /** In any order; a changed set gets a new certificate. */
  readonly services: readonly MeshService[]
  /** Absent: a key is made with the certificate, and sidecars of the identity share both. */
  readonly holder?: KeyHolder
}

/** A server of the control plane. */
export interface ControlPlaneSubject {
  readonly kind: 'control-plane'
  /** First label of the common name: `ads` for the server that proxies connect to. */
  readonly name: string
  /** Further names that clients know the server by. */
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
  /** Absent: a key is made with the certificate. */
  readonly holder?: KeyHolder
}

/** A caller that is not part of the mesh, such as an ingress gateway. */
export interface OutsideSubject {
  readonly kind: 'outside'
  /**
   * At least one. None may be the name of a service, a sidecar or a server. The caller makes sure that none is the
   * principal of an account that has workloads in the mesh.
   */
  readonly names: readonly string[]
}

/** Whom a certificate is for. */
export type CertificateSubject = ProxySubject | ServiceSubject | ControlPlaneSubject | OutsideSubject

/**
 * Names one certificate. The kind is part of the name: the common name of a proxy may be the principal of an account.
 */
export type CertificateRef =
  | { readonly kind: 'proxy'; readonly commonName: ProxyCommonName }
  /** `holder` is that of the key, where there is one. */
  | { readonly kind: 'service'; readonly commonName: Principal; readonly holder?: string }
  | { readonly kind: 'control-plane'; readonly commonName: string }
  | { readonly kind: 'outside'; readonly commonName: string }

/**
 * Common name of callers from outside whose names look like principals. It is not a DNS name of the certificate, so that no driver takes the bearer for a
 * workload: by the contract an identity is a URI, or a common name that is a DNS name too.
 */
const OUTSIDE_COMMON_NAME = 'caller outside the mesh'

/** Names in a certificate, without what the settings add. */
export type CertificateNames = LeafNames

/**
 * Peers read certificate messages of up to 100 kB (the default of OpenSSL and BoringSSL); names may take this much of
 * it.
 */
const MAX_NAME_OCTETS = 64_000

/** The name that a subject's certificate goes by. */
export function certificateRef<K extends LeafKind>(
  subject: Extract<CertificateSubject, { kind: K }>,
  domains: MeshDomains,
): Extract<CertificateRef, { kind: K }>
export function certificateRef(subject: CertificateSubject, domains: MeshDomains): CertificateRef {
  switch (subject.kind) {
    case 'proxy':
      return { kind: 'proxy', commonName: proxyCommonName(subject, domains.trustDomain) }
    case 'service':
      return {
        kind: 'service',
        commonName: principalOf(subject.serviceAccount, domains.trustDomain),
        ...(subject.holder && { holder: subject.holder.id }),
      }
    case 'control-plane':
      return { kind: 'control-plane', commonName: `${subject.name}.${domains.trustDomain}` }
    case 'outside':
      return { kind: 'outside', commonName: outsideCommonName(subject.names, domains) }
  }
}

/**
 * All names that the certificate of a subject holds.
 *
 * They are made of parts that were checked one by one, so no certificate can come to hold a wildcard or a name that
 * belongs to another kind.
 *
 * @throws OsmError with a code of `OSM_IDENTITY_*`, or `OSM_CERT_REQUEST`, `OSM_CERT_AMBIGUOUS_NAME` or
 * `OSM_CERT_TOO_MANY_NAMES`
 */
export function certificateNames(subject: CertificateSubject, domains: MeshDomains): CertificateNames {
  switch (subject.kind) {
    case 'proxy':
      return proxyNames(subject, domains)
    case 'service':
      return serviceNames(subject, domains)
    case 'control-plane':
      return controlPlaneNames(subject, domains)
    case 'outside':
      return outsideNames(subject, domains)
  }
}

function proxyNames(subject: ProxySubject, domains: MeshDomains): CertificateNames {
  const { commonName } = certificateRef<'proxy'>(subject, domains)
  return { kind: 'proxy', commonName, dnsNames: [commonName], uris: [], ipAddresses: [] }
}

function serviceNames(subject: ServiceSubject, domains: MeshDomains): CertificateNames {
  const { commonName } = certificateRef<'service'>(subject, domains)
  if (readsAsServerName(subject.serviceAccount, domains)) {
    throw new OsmError<CertificateErrorCode>(
      'OSM_CERT_AMBIGUOUS_NAME',
      `the principal ${commonName} is also the server name of a service; rename service account ${quoted(subject.serviceAccount.name)} ` +
        `in namespace ${quoted(subject.serviceAccount.namespace)}, or choose a trust domain other than the cluster domain`,
    )
  }
  const serverNames = new Set(subject.services.map((service) => serverNameOf(service, domains.clusterDomain)))
  const dnsNames = [commonName, ...[...serverNames].sort()]
  const size = dnsNames.reduce((sum, name) => sum + name.length + 4, 0)
  if (size > MAX_NAME_OCTETS) {
    throw new OsmError<CertificateErrorCode>(
      'OSM_CERT_TOO_MANY_NAMES',
      `${commonName} backs ${serverNames.size} services, whose names do not fit into one certificate; ` +
        `give their workloads several service accounts`,
    )
  }
  return {
    kind: 'service',
    commonName,
    dnsNames,
    uris: [spiffeIdOf(subject.serviceAccount, domains.trustDomain)],
    ipAddresses: [],
  }
}

function controlPlaneNames(subject: ControlPlaneSubject, domains: MeshDomains): CertificateNames {
  if (!isDnsLabel(subject.name)) throw refuse(subject.name, 'a DNS-1123 label as the name of a control-plane server')
  const { commonName } = certificateRef<'control-plane'>(subject, domains)
  const dnsNames = [...new Set([commonName, ...subject.dnsNames])]
  for (const name of dnsNames) {
    if (!isDnsSubdomain(name)) throw refuse(name, 'a DNS name in lower case, without wildcard')
    if (tryParseProxyCommonName(name, domains.trustDomain) !== undefined)
      throw refuse(name, 'a name of a control-plane server, not of a proxy: both come from one root')
  }
  const ipAddresses = [...new Set(subject.ipAddresses)]
  for (const address of ipAddresses)
    if (ipOctets(address) === undefined) throw refuse(address, 'an IP address without zone')
  return { kind: 'control-plane', commonName, dnsNames, uris: [], ipAddresses }
}

/**
 * No name of a service, sidecar or server of the mesh, regardless of who asks: its bearer could pass for one. Wildcards would cover such names, or names of other
 * callers. A principal gets no URI, and no common name that is a DNS name too: its bearer is never taken for a workload.
 */
function outsideNames(subject: OutsideSubject, domains: MeshDomains): CertificateNames {
  const { commonName } = certificateRef<'outside'>(subject, domains)
  const dnsNames = [...new Set(subject.names.map((name) => name.toLowerCase()))]
  if (dnsNames.length === 0) throw refuse('', 'a DNS name without wildcard')
  for (const name of dnsNames) {
    if (!isDnsDomain(name)) throw refuse(name, 'a DNS name without wildcard')
    const domain = [domains.trustDomain, domains.clusterDomain].find((it) => name === it || name.endsWith(`.${it}`))
    if (domain !== undefined && accountOfOutsideName(name, domains) === undefined)
      throw refuse(name, `a name outside ${domain}, or <service account>.<namespace>.${domains.trustDomain}`)
  }
  return { kind: 'outside', commonName, dnsNames, uris: [], ipAddresses: [] }
}

function outsideCommonName(names: readonly string[], domains: MeshDomains): string {
  const lower = names.map((name) => name.toLowerCase())
  const readsAsPrincipal = lower.some((name) => accountOfOutsideName(name, domains) !== undefined)
  return readsAsPrincipal ? OUTSIDE_COMMON_NAME : (lower[0] ?? '')
}

function refuse(text: string, expected: string): OsmError {
  return new OsmError<CertificateErrorCode>('OSM_CERT_REQUEST', `${quoted(text)}: expected ${expected}`)
}
