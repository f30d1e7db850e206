import { X509Certificate } from 'node:crypto'

import { OsmError } from '@osm-ts/driver-api'
import { ipOctets } from '@osm-ts/driver-api/toolkit'

import { quoted } from '../identity/dns-name.js'
import { type AlternativeNames, commonNamesOf, readAlternativeNames } from './certificate-names.js'
import type { SignedLeaf, SigningRequest } from './certificate-provider.js'
import { Certificate, pemCertificates, type RootCertificate } from './certificate.js'
import type { CertificateErrorCode } from './errors.js'
import { forbiddenName } from './name-constraints.js'
import { rootTexts } from './root-texts.js'

/** What an authority outside the process has sent, and what it is compared with. */
export interface IssuedChain {
  /** PEM, leaf first. Intermediates may follow in any order; a root in it is not trusted for that. */
  readonly pem: string
  readonly request: SigningRequest
  /** PEM of the roots that sidecars trust. */
  readonly roots: readonly string[]
  /** Milliseconds since 1970. */
  readonly now: number
}

/** Difference to the authority's clock that is tolerated. Certificates are used at once, by peers whose clocks differ in turn. */
const SKEW_MS = 30_000
/** Authorities round lifetimes up, and count them from their own time. */
const LONGER_MS = 60_000
/** Certificates of one chain: peers send and read them for each connection. */
const MAX_CERTIFICATES = 6
const MAX_PEM_BYTES = 200_000
const EXTENDED_KEY_USAGES = ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'] as const

/**
 * Compares what an authority outside the process has issued with what it was asked for, so that its mistakes end here and not in a sidecar.
 *
 * @throws OsmError with a code of `OSM_CERT_ISSUED_*`
 */
export function checkIssuedChain({ pem, request, roots, now }: IssuedChain): SignedLeaf {
  const [leaf, ...others] = parse(pem)
  checkKey(leaf, request)
  const names = checkNames(leaf, request)
  checkUsage(leaf)
  const [notBefore, leafEnd] = checkValidity(leaf, request, now)
  const { intermediates, root } = buildChain(leaf, others, readRoots(roots), now)
  checkConstraints([...intermediates, root], names, request)
  const ends = [leafEnd, ...[...intermediates, root].map(({ validTo }) => Date.parse(validTo))]
  return {
    chain: [leaf, ...intermediates].map(String).join(''),
    root: rootCertificateOf(root),
    notBefore,
    expiration: Math.min(...ends),
    serialNumber: leaf.serialNumber,
  }
}

/** A root as the certificate manager has it. */
export function rootCertificateOf(root: X509Certificate): RootCertificate {
  return new Certificate({
    kind: 'root',
    commonName: commonNamesOf(root)[0] ?? 'unnamed root',
    chain: root.toString(),
    notBefore: Date.parse(root.validFrom),
    expiration: Date.parse(root.validTo),
    serialNumber: root.serialNumber,
  })
}

/**
 * The self-signed certificates of CAs among those in a bundle, PEM, each once. What is not a certificate is left out.
 *
 * @param origin - names where the text came from
 * @throws OsmError with code `OSM_CERT_ROOTS_BOUND`
 */
export function selfSignedRoots(pem: string, origin: string): readonly X509Certificate[] {
  const roots = new Map(readRoots(rootTexts(pem, origin)).map((root) => [root.fingerprint256, root]))
  return [...roots.values()].filter((each) => each.ca && each.checkIssued(each) && each.verify(each.publicKey))
}

function parse(pem: string): readonly [X509Certificate, ...X509Certificate[]] {
  const texts = pem.length > MAX_PEM_BYTES ? [] : pemCertificates(pem)
  if (texts.length > MAX_CERTIFICATES)
    throw wrong('OSM_CERT_ISSUED_CHAIN', `the chain has ${texts.length} certificates, more than ${MAX_CERTIFICATES}`)
  const [leaf, ...others] = readRoots(texts)
  if (leaf === undefined || others.length + 1 !== texts.length)
    throw wrong('OSM_CERT_ISSUED_CHAIN', 'the answer of the authority is not a chain of certificates in PEM')
  return [leaf, ...others]
}

function readRoots(texts: readonly string[]): readonly X509Certificate[] {
  return texts.flatMap((text) => {
    try {
      return [new X509Certificate(text)]
    } catch {
      return []
    }
  })
}

function checkKey(leaf: X509Certificate, { publicKey, commonName }: SigningRequest): void {
  if (leaf.publicKey.export({ type: 'spki', format: 'der' }).equals(publicKey)) return
  throw wrong('OSM_CERT_ISSUED_KEY', `the certificate for ${commonName} is for another key than that of the request`)
}

function checkNames(leaf: X509Certificate, request: SigningRequest): AlternativeNames {
  const names = readAlternativeNames(leaf)
  const { commonName } = request
  if ('stranger' in names)
    throw wrong(
      'OSM_CERT_ISSUED_NAMES',
      `the certificate for ${commonName} has the name ${quoted(names.stranger)}, which it must not have`,
    )
  const wanted = [...request.dnsNames, ...request.uris, ...request.ipAddresses.map(canonicalAddress)]
  const issued = [...names.dns, ...names.uris, ...names.addresses.map(canonicalAddress)]
  const added = issued.find((name) => !wanted.includes(name)) ?? commonNamesOf(leaf).find((name) => name !== commonName)
  if (added !== undefined)
    throw wrong(
      'OSM_CERT_ISSUED_NAMES',
      `the authority added the name ${quoted(added)} to the certificate for ${commonName}`,
    )
  const missing = wanted.find((name) => !issued.includes(name))
  if (missing !== undefined)
    throw wrong(
      'OSM_CERT_ISSUED_NAMES',
      `the authority left the name ${quoted(missing)} out of the certificate for ${commonName}`,
    )
  return names
}

function checkConstraints(
  authorities: readonly X509Certificate[],
  names: AlternativeNames,
  { commonName }: SigningRequest,
): void {
  for (const authority of authorities) {
    const name = forbiddenName(authority, names)
    if (name !== undefined)
      throw wrong(
        'OSM_CERT_ISSUED_CONSTRAINTS',
        `the name constraints of ${quoted(authority.subject.replaceAll('\n', ', '))} do not allow ${quoted(name)} in the certificate for ${commonName}`,
      )
  }
}

function checkUsage(leaf: X509Certificate): void {
  if (leaf.ca) throw wrong('OSM_CERT_ISSUED_USAGE', 'the authority issued the certificate of a CA')
  // Undefined where there are none, whatever the types say.
  const usages = leaf.keyUsage as readonly string[] | undefined
  if (EXTENDED_KEY_USAGES.every((each) => usages?.includes(each))) return
  throw wrong(
    'OSM_CERT_ISSUED_USAGE',
    'the certificate lacks an extended key usage: sidecars are servers and clients, and need serverAuth and clientAuth',
  )
}

function checkValidity(
  leaf: X509Certificate,
  request: SigningRequest,
  now: number,
): readonly [from: number, to: number] {
  const from = Date.parse(leaf.validFrom)
  const to = Date.parse(leaf.validTo)
  const range = `valid from ${leaf.validFrom} to ${leaf.validTo}`
  if (!(from <= now + SKEW_MS))
    throw wrong('OSM_CERT_ISSUED_VALIDITY', `the certificate is ${range}, which is in the future; compare the clocks`)
  if (!(to > now + SKEW_MS / 10))
    throw wrong('OSM_CERT_ISSUED_VALIDITY', `the certificate is ${range}, and expires before it can be used`)
  // A short life is the only revocation there is.
  if (to > now + request.validityMs + LONGER_MS)
    throw wrong(
      'OSM_CERT_ISSUED_VALIDITY',
      `the certificate is ${range}, longer than the ${Math.round(request.validityMs / 1000)} s asked for`,
    )
  return [from, to]
}

function buildChain(
  leaf: X509Certificate,
  offered: readonly X509Certificate[],
  roots: readonly X509Certificate[],
  now: number,
): { readonly intermediates: readonly X509Certificate[]; readonly root: X509Certificate } {
  const intermediates: X509Certificate[] = []
  let last = leaf
  for (;;) {
    const isSigner = (each: X509Certificate): boolean =>
      each.ca && last.checkIssued(each) && last.verify(each.publicKey) && isValid(each, now)
    const root = roots.find(isSigner)
    if (root !== undefined) return { intermediates, root }
    const next = offered.find((each) => !intermediates.includes(each) && isSigner(each))
    if (next === undefined || intermediates.length >= MAX_CERTIFICATES)
      throw wrong(
        'OSM_CERT_ISSUED_CHAIN',
        `no trusted root is at the end of the chain: the issuer ${quoted(last.issuer.replaceAll('\n', ', '))} is missing, not valid now, or not a CA`,
      )
    intermediates.push(next)
    last = next
  }
}

function isValid({ validFrom, validTo }: X509Certificate, now: number): boolean {
  return Date.parse(validFrom) <= now + SKEW_MS && Date.parse(validTo) > now
}

function canonicalAddress(address: string): string {
  return ipOctets(address)?.toString('hex') ?? address
}

function wrong(code: CertificateErrorCode & `OSM_CERT_ISSUED_${string}`, message: string): OsmError {
  return new OsmError<CertificateErrorCode>(code, message)
}
