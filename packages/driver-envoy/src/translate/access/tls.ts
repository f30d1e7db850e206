import { isIP } from 'node:net'
import { MESH_ALPN, type Principal } from '@osm-ts/driver-api'
import type { PrincipalsPart, TlsVersion, TrustPart, UpstreamTls } from '@osm-ts/driver-api/policy'
import type { SecretCredentialRef } from '@osm-ts/driver-api/toolkit'
import type { TransportSocketSchema } from '@osm-ts/envoy-api/envoy/config/core/v3/base_pb.js'
import {
  type CertificateValidationContextSchema,
  type SubjectAltNameMatcherSchema,
  SubjectAltNameMatcher_SanType as SanType,
  TlsParameters_TlsProtocol as TlsProtocol,
  type TlsParametersSchema,
} from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/tls/v3/common_pb.js'
import {
  type CommonTlsContextSchema,
  DownstreamTlsContextSchema,
  UpstreamTlsContextSchema,
} from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls_pb.js'

import { egressCertSecret, egressRootsSecret, ROOT_CERT_SECRET, SERVICE_CERT_SECRET } from '../../resources/types.js'
import { adsSource, vanishingSource, workloadApiSource } from '../encoding/config-source.js'
import { type Init, pack } from '../encoding/encode.js'
import type { MeshTrust } from '../settings.js'
import { spiffeId, spiffePrefix } from './identity-names.js'

type SanMatcher = Init<typeof SubjectAltNameMatcherSchema>

const TRANSPORT_SOCKET = 'envoy.transport_sockets.tls'

/** No one can hold this name: `.invalid` is reserved. An empty list of matchers would let any certificate of the roots pass. */
const NOBODY: SanMatcher = {
  sanType: SanType.DNS,
  matcher: { matchPattern: { case: 'exact', value: 'nobody.invalid' } },
}

/** mTLS towards a service of the mesh: own certificate, and a server that holds one of the given identities. */
export function meshClientTls(
  serverName: string,
  principals: readonly Principal[],
  trust: MeshTrust,
): Init<typeof TransportSocketSchema> {
  return {
    name: TRANSPORT_SOCKET,
    configType: {
      case: 'typedConfig',
      value: pack(UpstreamTlsContextSchema, {
        sni: serverName,
        commonTlsContext: {
          ...ownCertificate(trust),
          ...verification(identityMatchers(principals, trust)),
          alpnProtocols: [MESH_ALPN],
        },
        // A resumed session skips verification, and would outlive a root or an identity that was withdrawn.
        maxSessionKeys: 0,
      }),
    },
  }
}

/** What an upstream outside the mesh is told to be spoken TLS to by. */
type Origination = Extract<UpstreamTls, { readonly mode: 'originate' }>

/**
 * TLS towards a server outside the mesh: with the own certificate to one that holds a certificate of the mesh, or with a certificate of a Secret to one
 * that the roots beside it have signed. Undefined for other certificates and roots: this driver has none.
 */
export function originatedTls(
  origination: Origination,
  trust: MeshTrust,
): Init<typeof TransportSocketSchema> | undefined {
  const { serverName, subjectAltNames } = origination
  const expected = (subjectAltNames.length > 0 ? [...subjectAltNames].sort() : [serverName]).map(nameMatcher)
  const material = originationMaterial(origination, expected, trust)
  if (material === undefined) return undefined
  return {
    name: TRANSPORT_SOCKET,
    configType: {
      case: 'typedConfig',
      value: pack(UpstreamTlsContextSchema, {
        // Addresses are not server names (RFC 6066, section 3).
        ...(isIP(serverName) === 0 ? { sni: serverName } : {}),
        commonTlsContext: material,
        // As in the mesh: a resumed session would outlive a root that was withdrawn.
        maxSessionKeys: 0,
      }),
    },
  }
}

/** What is shown, and what the server is verified by: both of the mesh, or both of one Secret. */
function originationMaterial(
  origination: Origination,
  expected: readonly SanMatcher[],
  trust: MeshTrust,
): Init<typeof CommonTlsContextSchema> | undefined {
  if (origination.credential?.kind === 'service' && origination.roots?.kind === 'service')
    return { ...ownCertificate(trust), ...verification(expected) }
  const secret = secretOf(origination)
  if (secret === undefined) return undefined
  return {
    tlsParams: tlsParameters(trust),
    tlsCertificateSdsSecretConfigs: [{ name: egressCertSecret(secret), sdsConfig: vanishingSource() }],
    validationContextType: {
      case: 'combinedValidationContext',
      value: {
        defaultValidationContext: { matchTypedSubjectAltNames: [...expected] },
        validationContextSdsSecretConfig: { name: egressRootsSecret(secret), sdsConfig: vanishingSource() },
      },
    },
  }
}

/** The Secret that a destination is spoken TLS to with; undefined if it is none, or more than one. */
export function secretOf({ credential, roots }: Origination): SecretCredentialRef | undefined {
  if (credential?.kind !== 'secret' || roots?.kind !== 'secret') return undefined
  return credential.namespace === roots.namespace && credential.name === roots.name ? credential : undefined
}

function nameMatcher(name: string): SanMatcher {
  return {
    sanType: isIP(name) === 0 ? SanType.DNS : SanType.IP_ADDRESS,
    matcher: { matchPattern: { case: 'exact', value: name } },
  }
}

/** TLS towards the workload beside the proxy, no matter who it says to be: as a kubelet asks, whose place the proxy takes. */
export function unverifiedClientTls(): Init<typeof TransportSocketSchema> {
  const tlsParams = tlsParameters({ minVersion: 'TLSv1_2', maxVersion: 'TLSv1_3', cipherSuites: [], ecdhCurves: [] })
  return {
    name: TRANSPORT_SOCKET,
    configType: {
      case: 'typedConfig',
      value: pack(UpstreamTlsContextSchema, { commonTlsContext: { tlsParams } }),
    },
  }
}

/**
 * mTLS towards callers in the mesh.
 *
 * @param callers - who may finish the handshake. HTTP ports let all of the trust domain in and decide by RBAC, so that a refusal is an answer. Network
 *   RBAC decides at the first byte of the caller, by when a server that speaks first has spoken, so that TCP ports must not come that far: for them,
 *   the name of the secret that says who may. A caller more or less then changes that secret and not the filter chain, whose connections go on
 */
export function meshServerTls(
  trust: MeshTrust,
  callers: 'trustDomain' | { readonly secret: string },
): Init<typeof TransportSocketSchema> {
  return {
    name: TRANSPORT_SOCKET,
    configType: {
      case: 'typedConfig',
      value: pack(DownstreamTlsContextSchema, {
        requireClientCertificate: true,
        commonTlsContext: {
          ...ownCertificate(trust),
          ...(callers === 'trustDomain'
            ? verification([trustDomainMatcher(trust.trustDomain)])
            : verificationBy(callers.secret)),
        },
        ...withoutResumption,
      }),
    },
  }
}

/**
 * TLS towards callers from outside the mesh.
 *
 * @param mutual - true: they show a certificate of its roots
 * @param http2 - true: HTTP/2 is offered. What a caller speaks is what the application is spoken to, so that only those that know HTTP/2 offer it
 */
export function outsideServerTls(
  trust: MeshTrust,
  mutual: boolean,
  http2: boolean,
): Init<typeof TransportSocketSchema> {
  return {
    name: TRANSPORT_SOCKET,
    configType: {
      case: 'typedConfig',
      value: pack(DownstreamTlsContextSchema, {
        requireClientCertificate: mutual,
        commonTlsContext: {
          ...ownCertificate(trust),
          ...(mutual ? verification('any') : {}),
          alpnProtocols: [...(http2 ? ['h2'] : []), 'http/1.1'],
        },
        ...withoutResumption,
      }),
    },
  }
}

/** See {@link meshClientTls}. Tickets and session ids are two ways to resume. */
const withoutResumption = {
  sessionTicketKeysType: { case: 'disableStatelessSessionResumption', value: true },
  disableStatefulSessionResumption: true,
} as const

/** The proxy's own service certificate, and the TLS parameters of the mesh. */
function ownCertificate(trust: MeshTrust): Init<typeof CommonTlsContextSchema> {
  const { workloadApiId } = trust
  return {
    tlsParams: tlsParameters(trust),
    tlsCertificateSdsSecretConfigs: [
      workloadApiId === undefined
        ? { name: SERVICE_CERT_SECRET, sdsConfig: adsSource() }
        : { name: workloadApiId, sdsConfig: workloadApiSource() },
    ],
  }
}

/** The roots of the mesh, and what a peer's certificate must say besides. */
function verification(expected: readonly SanMatcher[] | 'any'): Init<typeof CommonTlsContextSchema> {
  const matchers = expected === 'any' ? [] : expected.length > 0 ? [...expected] : [NOBODY]
  return {
    validationContextType: {
      case: 'combinedValidationContext',
      value: {
        defaultValidationContext: { matchTypedSubjectAltNames: matchers },
        validationContextSdsSecretConfig: { name: ROOT_CERT_SECRET, sdsConfig: adsSource() },
      },
    },
  }
}

/** Roots and expected names alike from a secret. */
function verificationBy(secret: string): Init<typeof CommonTlsContextSchema> {
  return {
    validationContextType: {
      case: 'validationContextSdsSecretConfig',
      value: { name: secret, sdsConfig: adsSource() },
    },
  }
}

/** What the certificate of a caller of a TCP port must be signed by and say. Without callers no one is let in. */
export function callersValidation(
  callers: PrincipalsPart | undefined,
  trust: TrustPart,
): Init<typeof CertificateValidationContextSchema> {
  const matchers = callers === undefined ? [] : callerMatchers(callers, trust)
  return {
    trustedCa: { specifier: { case: 'inlineString', value: trust.roots.join('\n') } },
    matchTypedSubjectAltNames: matchers.length > 0 ? [...matchers] : [NOBODY],
  }
}

/** TLS parameters of the mesh. `TLS_AUTO` means 1.2 to 1.3 for clients and servers alike, which Envoy's own default does not. */
export function tlsParameters(
  trust: Pick<TrustPart, 'minVersion' | 'maxVersion' | 'cipherSuites' | 'ecdhCurves'>,
): Init<typeof TlsParametersSchema> {
  return {
    tlsMinimumProtocolVersion: protocol(trust.minVersion, TlsProtocol.TLSv1_2),
    tlsMaximumProtocolVersion: protocol(trust.maxVersion, TlsProtocol.TLSv1_3),
    cipherSuites: [...trust.cipherSuites],
    ecdhCurves: [...trust.ecdhCurves],
  }
}

function protocol(version: TlsVersion, automatic: TlsProtocol): TlsProtocol {
  return version === 'TLS_AUTO' ? automatic : TlsProtocol[version]
}

function callerMatchers(callers: PrincipalsPart, trust: TrustPart): readonly SanMatcher[] {
  if (callers.match === 'trustDomain') return [trustDomainMatcher(callers.trustDomain)]
  return identityMatchers(callers.principals, trust)
}

function identityMatchers(principals: readonly Principal[], { trustDomain }: TrustPart): readonly SanMatcher[] {
  return [...principals].sort().map((principal) => {
    const uri = spiffeId(principal, trustDomain)
    return {
      sanType: uri === undefined ? SanType.DNS : SanType.URI,
      matcher: { matchPattern: { case: 'exact', value: uri ?? principal } },
    }
  })
}

function trustDomainMatcher(trustDomain: string): SanMatcher {
  return { sanType: SanType.URI, matcher: { matchPattern: { case: 'prefix', value: spiffePrefix(trustDomain) } } }
}
