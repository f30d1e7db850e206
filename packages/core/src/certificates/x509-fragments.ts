// eslint-disable-next-line @typescript-eslint/triple-slash-reference -- programs that compile this file from source need the declaration too
/// <reference path="./node-forge-asn1.d.ts" />
import type { KeyObject } from 'node:crypto'

import { OsmError } from '@osm-ts/driver-api'
import asn1 from 'node-forge/lib/asn1.js'

import type { CertificateErrorCode } from './errors.js'
import type { KeyAlgorithm } from './key-pair.js'

/**
 * Parts of certificates that are the same for all certificates of an issuer. They are made once per issuer, so clarity
 * comes before speed here.
 */

const OID = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  organizationalUnit: '2.5.4.11',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  ecdsaWithSHA256: '1.2.840.10045.4.3.2',
  ecdsaWithSHA384: '1.2.840.10045.4.3.3',
  sha256WithRSAEncryption: '1.2.840.113549.1.1.11',
} as const

type Element = ReturnType<typeof asn1.create>

/** How an issuer signs. */
export interface SignatureAlgorithm {
  readonly hash: 'sha256' | 'sha384'
  /** AlgorithmIdentifier. */
  readonly der: Buffer
}

/**
 * The algorithm that fits a root's key: P-256, P-384, or RSA of 2048 bits and more. Envoy's TLS library verifies no
 * Ed25519, so that a root of that kind would be refused by sidecars only; it is refused here.
 *
 * @throws OsmError with code `OSM_CERT_CA_INVALID`
 */
export function signatureAlgorithmOf(key: KeyObject, origin: string): SignatureAlgorithm {
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {}
  if (key.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1')
    return { hash: 'sha256', der: encode(sequence(oid(OID.ecdsaWithSHA256))) }
  if (key.asymmetricKeyType === 'ec' && namedCurve === 'secp384r1')
    return { hash: 'sha384', der: encode(sequence(oid(OID.ecdsaWithSHA384))) }
  if (key.asymmetricKeyType === 'rsa' && modulusLength >= 2048)
    return { hash: 'sha256', der: encode(sequence(oid(OID.sha256WithRSAEncryption), primitive(asn1.Type.NULL, ''))) }
  throw new OsmError<CertificateErrorCode>(
    'OSM_CERT_CA_INVALID',
    `${origin}: the key of a root must be ECDSA on P-256 or P-384, or RSA of at least 2048 bits, not ${key.asymmetricKeyType ?? 'unknown'}`,
  )
}

/** The name of a root. The unit tells people, and path builders without key identifiers, the two roots apart. */
export function rootName(commonName: string, unit: string): Buffer {
  return encode(
    sequence(
      attribute(OID.organization, 'Open Service Mesh'),
      attribute(OID.organizationalUnit, unit),
      attribute(OID.commonName, commonName),
    ),
  )
}

/** Extensions of a root that signs leaves only. */
export function rootExtensions(subjectKeyIdentifier: Buffer): Buffer {
  const keyCertSignAndCrlSign = '\x01\x06'
  return Buffer.concat([
    extension(
      OID.basicConstraints,
      true,
      sequence(primitive(asn1.Type.BOOLEAN, '\xff'), primitive(asn1.Type.INTEGER, '\0')),
    ),
    extension(OID.keyUsage, true, primitive(asn1.Type.BITSTRING, keyCertSignAndCrlSign)),
    extension(OID.subjectKeyIdentifier, false, primitive(asn1.Type.OCTETSTRING, octets(subjectKeyIdentifier))),
  ])
}

/**
 * Extensions that all leaves of an issuer share: no CA; both ends of a connection, because sidecars are; signatures
 * only, and for RSA also the key transport that TLS 1.2 may use (RFC 8813 forbids that bit with ECDSA).
 */
export function leafExtensions(algorithm: KeyAlgorithm, authorityKeyIdentifier: Buffer | undefined): Buffer {
  const digitalSignature = '\x07\x80'
  const digitalSignatureAndKeyEncipherment = '\x05\xa0'
  const usage = algorithm === 'RSA' ? digitalSignatureAndKeyEncipherment : digitalSignature
  const fragments = [
    extension(OID.basicConstraints, true, sequence()),
    extension(OID.keyUsage, true, primitive(asn1.Type.BITSTRING, usage)),
    extension(OID.extKeyUsage, false, sequence(oid(OID.serverAuth), oid(OID.clientAuth))),
  ]
  if (authorityKeyIdentifier !== undefined) {
    const keyIdentifier = asn1.create(asn1.Class.CONTEXT_SPECIFIC, 0, false, octets(authorityKeyIdentifier))
    fragments.push(extension(OID.authorityKeyIdentifier, false, sequence(keyIdentifier)))
  }
  return Buffer.concat(fragments)
}

/** Identifiers of the parts that differ per leaf, encoded. */
export function leafIdentifiers(): {
  readonly commonName: Buffer
  readonly subjectKeyIdentifier: Buffer
  readonly subjectAltName: Buffer
  /** The same with the critical flag after it. */
  readonly criticalSubjectAltName: Buffer
} {
  const subjectAltName = encode(oid(OID.subjectAltName))
  return {
    commonName: encode(oid(OID.commonName)),
    subjectKeyIdentifier: encode(oid(OID.subjectKeyIdentifier)),
    subjectAltName,
    criticalSubjectAltName: Buffer.concat([subjectAltName, encode(primitive(asn1.Type.BOOLEAN, '\xff'))]),
  }
}

/**
 * What issuing under a root needs of its certificate and `X509Certificate` does not tell: the exact octets of its
 * subject, and its key identifier, if any. The input is a root that OpenSSL has parsed and whose key we hold, never a
 * stranger's certificate.
 */
export function issuerFieldsOf(root: Buffer): { readonly name: Buffer; readonly keyIdentifier: Buffer | undefined } {
  const tbs = children(children(asn1.fromDer(octets(root)))[0])
  // [0] version, serial, signature, issuer, validity, subject, … [3] extensions; a root is always version 3
  const [subject] = tbs.slice(5)
  const wrapper = tbs.find((element) => element.tagClass === asn1.Class.CONTEXT_SPECIFIC && element.type === 3)
  if (subject === undefined) throw new TypeError('a certificate without subject')
  const identifier = children(children(wrapper)[0])
    .map(children)
    .find(([id]) => typeof id?.value === 'string' && asn1.derToOid(id.value) === OID.subjectKeyIdentifier)
  const wrapped = identifier?.at(-1)?.value
  const value = typeof wrapped === 'string' ? asn1.fromDer(wrapped).value : undefined
  return {
    name: encode(subject),
    keyIdentifier: typeof value === 'string' ? Buffer.from(value, 'latin1') : undefined,
  }
}

function children(element: Element | undefined): readonly Element[] {
  return Array.isArray(element?.value) ? element.value : []
}

function attribute(id: string, value: string): Element {
  return asn1.create(asn1.Class.UNIVERSAL, asn1.Type.SET, true, [
    sequence(oid(id), primitive(asn1.Type.UTF8, octets(Buffer.from(value)))),
  ])
}

function extension(id: string, critical: boolean, value: Element): Buffer {
  const flag = critical ? [primitive(asn1.Type.BOOLEAN, '\xff')] : []
  return encode(sequence(oid(id), ...flag, primitive(asn1.Type.OCTETSTRING, asn1.toDer(value).getBytes())))
}

function sequence(...elements: readonly Element[]): Element {
  return asn1.create(asn1.Class.UNIVERSAL, asn1.Type.SEQUENCE, true, elements)
}

function oid(id: string): Element {
  return primitive(asn1.Type.OID, asn1.oidToDer(id).getBytes())
}

function primitive(type: number, value: string): Element {
  return asn1.create(asn1.Class.UNIVERSAL, type, false, value)
}

function encode(element: Element): Buffer {
  return Buffer.from(asn1.toDer(element).getBytes(), 'latin1')
}

function octets(buffer: Buffer): string {
  return buffer.toString('latin1')
}
