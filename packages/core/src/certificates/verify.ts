import { hash, X509Certificate } from 'node:crypto'

import {
  OsmError,
  type Principal,
  type ProxyCommonName,
  type ProxyUUID,
  type ServiceAccountRef,
  type SpiffeId,
} from '@osm-ts/driver-api'

import { quoted } from '../identity/dns-name.js'
import type { MeshDomains } from '../identity/mesh-domains.js'
import { tryParseProxyCommonName } from '../identity/proxy-identity.js'
import { parseServerName, readsAsServerName } from '../identity/server-name.js'
import { parseSpiffeId, principalOf } from '../identity/service-identity.js'
import { type AlternativeNames, commonNamesOf, readAlternativeNames } from './certificate-names.js'
import type { CertificateErrorCode } from './errors.js'
import type { Authority } from './kinds.js'

/** Who a peer is, as its certificate proves. */
export type VerifiedPeer =
  | {
      readonly kind: 'proxy'
      readonly commonName: ProxyCommonName
      readonly uuid: ProxyUUID
      readonly serviceAccount: ServiceAccountRef
      readonly serialNumber: string
    }
  | {
      readonly kind: 'service'
      readonly principal: Principal
      readonly spiffeId: SpiffeId
      readonly serviceAccount: ServiceAccountRef
      readonly serverNames: readonly string[]
      readonly serialNumber: string
    }
  | { readonly kind: 'control-plane'; readonly dnsNames: readonly string[]; readonly serialNumber: string }

/** What a {@link PeerVerifier} checks against. */
export interface PeerVerifierOptions {
  /** Whose roots these are. It decides which kinds of certificates there can be. */
  readonly authority: Authority
  /** PEM. Each must be able to have signed the leaf itself: certificates in between are not accepted. */
  readonly trustBundle: readonly string[]
  readonly domains: MeshDomains
  /** Which side of the connection the peer is on. */
  readonly peer: 'client' | 'server'
  /** Difference to the peer's clock that is tolerated at either end of the validity. */
  readonly skewMs?: number
}

const DEFAULT_SKEW_MS = 30_000
/** A certificate larger than this has more names than are ever issued. */
const MAX_CERTIFICATE_OCTETS = 100_000
/** Peers that are remembered. A proxy returns many times with one certificate, and thousands return at once. */
const MAX_REMEMBERED = 8192
const EXTENDED_KEY_USAGE = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' } as const

type WithoutSerial<K extends VerifiedPeer['kind']> = K extends unknown
  ? Omit<Extract<VerifiedPeer, { kind: K }>, 'serialNumber'>
  : never

/** When a certificate is valid. Milliseconds since 1970; a date that can't be read is NaN, and every comparison with it is false. */
interface Validity {
  readonly from: number
  readonly to: number
}

/** What a certificate proves at any time, and when it does. */
interface Proof {
  readonly peer: VerifiedPeer
  readonly leaf: Validity
  /** Of the roots that have signed it. */
  readonly signers: readonly Validity[]
}

/**
 * Decides who presented a certificate, against the roots of exactly one authority.
 *
 * TLS has verified the chain before, as a rule; this does so again, because an identity should not hang on how some
 * listener was configured. Identity is read from the subject alternative names. The subject's common name never decides
 * anything, but if there is one it must say the same.
 */
export class PeerVerifier {
  readonly #options: PeerVerifierOptions
  readonly #roots: readonly X509Certificate[]
  /** What was proven, by hash of the certificate. Reading one takes half a millisecond, and what it proves never changes but for the time. */
  readonly #proofs = new Map<string, Proof>()

  constructor(options: PeerVerifierOptions) {
    this.#options = options
    this.#roots = options.trustBundle.map((pem) => new X509Certificate(pem))
  }

  /**
   * @param peer - DER of the peer's leaf certificate
   * @param now - milliseconds since 1970
   * @throws OsmError with a code of `OSM_CERT_PEER_*`
   */
  verify(peer: Uint8Array, now: number): VerifiedPeer {
    const digest = hash('sha256', peer, 'base64url')
    const known = this.#proofs.get(digest)
    if (known !== undefined) {
      this.#checkTime(known, now)
      return known.peer
    }
    const certificate = parse(peer)
    const validity = { leaf: validityOf(certificate), signers: this.#signersOf(certificate).map(validityOf) }
    this.#checkTime(validity, now)
    if (certificate.ca) throw refuse('OSM_CERT_PEER_USAGE', 'the peer presented the certificate of a CA')
    // Node calls the extended key usages so, and leaves them undefined where there are none, whatever the types say.
    const usages = certificate.keyUsage as readonly string[] | undefined
    if (!usages?.includes(EXTENDED_KEY_USAGE[this.#options.peer]))
      throw refuse('OSM_CERT_PEER_USAGE', `the certificate of the peer is not meant for a ${this.#options.peer}`)
    const proof: Proof = { ...validity, peer: Object.freeze(this.#classify(certificate)) }
    this.#remember(digest, proof)
    return proof.peer
  }

  #remember(digest: string, proof: Proof): void {
    this.#proofs.set(digest, proof)
    const [oldest] = this.#proofs.keys()
    if (this.#proofs.size > MAX_REMEMBERED && oldest !== undefined) this.#proofs.delete(oldest)
  }

  #signersOf(certificate: X509Certificate): readonly X509Certificate[] {
    const signers = this.#roots.filter((root) => certificate.checkIssued(root) && certificate.verify(root.publicKey))
    if (signers.length === 0)
      throw refuse(
        'OSM_CERT_PEER_UNTRUSTED',
        `no root of the ${this.#options.authority} has signed the certificate of the peer`,
      )
    return signers
  }

  #checkTime({ leaf, signers }: Omit<Proof, 'peer'>, now: number): void {
    if (!signers.some((root) => this.#isValid(root, now)))
      throw refuse('OSM_CERT_PEER_EXPIRED', `the root behind the certificate of the peer is not valid now`)
    if (!this.#isValid(leaf, now))
      throw refuse(
        'OSM_CERT_PEER_EXPIRED',
        `the certificate of the peer is valid from ${timeOf(leaf.from)} to ${timeOf(leaf.to)} only`,
      )
  }

  #isValid({ from, to }: Validity, now: number): boolean {
    const skew = this.#options.skewMs ?? DEFAULT_SKEW_MS
    return now >= from - skew && now < to + skew
  }

  #classify(certificate: X509Certificate): VerifiedPeer {
    const names = readAlternativeNames(certificate)
    if ('stranger' in names)
      throw refuse('OSM_CERT_PEER_NAME', `${quoted(names.stranger)} is none of the names that this mesh gives`)
    const peer = this.#options.authority === 'workload' ? this.#service(names) : this.#proxyOrControlPlane(names)
    for (const claimed of commonNamesOf(certificate)) {
      if (!namesOf(peer).includes(claimed))
        throw refuse('OSM_CERT_PEER_NAME', `the subject says ${quoted(claimed)}, which the alternative names do not`)
    }
    return { ...peer, serialNumber: certificate.serialNumber }
  }

  #service({ dns, uris, addresses }: AlternativeNames): WithoutSerial<'service'> {
    const { trustDomain, clusterDomain } = this.#options.domains
    const [uri] = uris
    if (uri === undefined || uris.length > 1 || addresses.length > 0)
      throw refuse('OSM_CERT_PEER_NAME', 'a service certificate holds one SPIFFE ID, DNS names, and nothing else')
    const serviceAccount = asPeerError(() => parseSpiffeId(uri, trustDomain))
    const principal = principalOf(serviceAccount, trustDomain)
    if (!dns.includes(principal) || readsAsServerName(serviceAccount, this.#options.domains))
      throw refuse('OSM_CERT_PEER_NAME', `the DNS names beside ${quoted(uri)} lack its principal, or make it ambiguous`)
    const serverNames = dns.filter((name) => name !== principal)
    const foreign = serverNames.find((name) => parseServerName(name, clusterDomain) === undefined)
    if (foreign !== undefined)
      throw refuse(
        'OSM_CERT_PEER_NAME',
        `${quoted(foreign)} is not a server name of the cluster domain ${clusterDomain}`,
      )
    // The parser accepts exactly what spiffeIdOf writes.
    return { kind: 'service', principal, spiffeId: uri as SpiffeId, serviceAccount, serverNames }
  }

  #proxyOrControlPlane({
    dns,
    uris,
    addresses,
  }: AlternativeNames): WithoutSerial<'proxy'> | WithoutSerial<'control-plane'> {
    const { trustDomain } = this.#options.domains
    const [name] = dns
    if (name === undefined || uris.length > 0)
      throw refuse('OSM_CERT_PEER_NAME', 'a certificate of the control-plane root holds DNS names and no URI')
    if (dns.every((each) => tryParseProxyCommonName(each, trustDomain) === undefined))
      return { kind: 'control-plane', dnsNames: dns }
    const proxy = tryParseProxyCommonName(name, trustDomain)
    if (proxy === undefined || dns.length > 1 || addresses.length > 0)
      throw refuse('OSM_CERT_PEER_NAME', 'the certificate of a proxy holds its common name and no other name')
    return { kind: 'proxy', commonName: name as ProxyCommonName, ...proxy } // parsed three lines above
  }
}

/** The names that a common name in the subject may repeat. */
function namesOf(peer: WithoutSerial<VerifiedPeer['kind']>): readonly string[] {
  switch (peer.kind) {
    case 'proxy':
      return [peer.commonName]
    case 'service':
      return [peer.principal]
    case 'control-plane':
      return peer.dnsNames
  }
}

function validityOf({ validFrom, validTo }: X509Certificate): Validity {
  return { from: Date.parse(validFrom), to: Date.parse(validTo) }
}

function timeOf(time: number): string {
  return Number.isNaN(time) ? 'a time that cannot be read' : new Date(time).toISOString()
}

function parse(peer: Uint8Array): X509Certificate {
  if (peer.length === 0 || peer.length > MAX_CERTIFICATE_OCTETS)
    throw refuse('OSM_CERT_PEER_MALFORMED', `the certificate of the peer has ${peer.length} bytes`)
  try {
    return new X509Certificate(peer)
  } catch (error) {
    throw refuse('OSM_CERT_PEER_MALFORMED', 'the peer presented something that is not a certificate', error)
  }
}

function asPeerError<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw refuse('OSM_CERT_PEER_NAME', error instanceof Error ? error.message : 'a name cannot be read', error)
  }
}

function refuse(code: CertificateErrorCode & `OSM_CERT_PEER_${string}`, message: string, cause?: unknown): OsmError {
  return new OsmError<CertificateErrorCode>(code, message, { cause })
}
