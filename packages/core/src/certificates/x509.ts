import { hash, randomBytes, sign, type KeyObject } from 'node:crypto'

import { OsmError } from '@osm-ts/driver-api'
import { ipOctets } from '@osm-ts/driver-api/toolkit'

import { bitString, pem, tag, time, tlv, unsignedInteger, utf8String } from './der.js'
import type { CertificateErrorCode } from './errors.js'
import type { KeyAlgorithm } from './key-pair.js'
import {
  leafExtensions,
  leafIdentifiers,
  rootExtensions,
  rootName,
  signatureAlgorithmOf,
  type SignatureAlgorithm,
} from './x509-fragments.js'

/**
 * Writing X.509 certificates (RFC 5280). Reading them is left to `crypto.X509Certificate`.
 */

/** Who signs leaves. */
export interface Issuer {
  /** Subject of the issuer's certificate, DER, octet by octet as in the certificate. */
  readonly name: Buffer
  /** Subject key identifier of the issuer's certificate, if it has one. */
  readonly keyIdentifier: Buffer | undefined
  readonly key: KeyObject
  /** Where the key came from, for error messages. */
  readonly origin: string
}

/** What varies from leaf to leaf. Names have been checked by the caller: ASCII, no wildcard. */
export interface LeafFields {
  /**
   * Left out of the subject if it is longer than X.520 allows; then the certificate stands on its alternative names
   * alone.
   */
  readonly commonName: string
  readonly dnsNames: readonly string[]
  readonly uris: readonly string[]
  /** 4 or 16 octets each. */
  readonly ipAddresses: readonly Buffer[]
  /** Milliseconds since 1970; cut to seconds. */
  readonly notBefore: number
  readonly notAfter: number
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer
  readonly algorithm: KeyAlgorithm
}

/** A certificate just written. */
export interface WrittenCertificate {
  readonly der: Buffer
  readonly pem: string
  /** Hexadecimal, upper case, whole octets. */
  readonly serialNumber: string
}

/** ub-common-name of X.520, in characters. */
const MAX_COMMON_NAME = 64

const VERSION_3 = Buffer.from([0xa0, 0x03, 0x02, 0x01, 0x02])
const EMPTY_NAME = Buffer.from([tag.sequence, 0])
/** Context tags of the parts of a certificate and of a GeneralName. */
const EXTENSIONS = 0xa3
const DNS_NAME = 0x82
const URI = 0x86
const IP_ADDRESS = 0x87

/**
 * Writes the leaves of one issuer. All that its leaves have in common is encoded once.
 */
export class LeafWriter {
  readonly #issuer: Issuer
  readonly #algorithm: SignatureAlgorithm
  readonly #algorithmAndIssuer: Buffer
  readonly #extensions: Readonly<Record<KeyAlgorithm, Buffer>>
  readonly #identifiers = leafIdentifiers()

  /** @throws OsmError with code `OSM_CERT_CA_INVALID` for a kind of key that sidecars do not verify */
  constructor(issuer: Issuer) {
    this.#issuer = issuer
    this.#algorithm = signatureAlgorithmOf(issuer.key, issuer.origin)
    this.#algorithmAndIssuer = Buffer.concat([this.#algorithm.der, issuer.name])
    this.#extensions = {
      ECDSA: leafExtensions('ECDSA', issuer.keyIdentifier),
      RSA: leafExtensions('RSA', issuer.keyIdentifier),
    }
  }

  async write(fields: LeafFields): Promise<WrittenCertificate> {
    const serial = randomSerial()
    const subject = subjectOf(fields.commonName, this.#identifiers)
    const body = tlv(
      tag.sequence,
      VERSION_3,
      unsignedInteger(serial),
      this.#algorithmAndIssuer,
      tlv(tag.sequence, time(fields.notBefore), time(fields.notAfter)),
      subject.der,
      fields.publicKey,
      tlv(
        EXTENSIONS,
        tlv(
          tag.sequence,
          this.#extensions[fields.algorithm],
          this.#subjectKeyIdentifier(fields.publicKey),
          subjectAltName(fields, this.#identifiers, !subject.hasName),
        ),
      ),
    )
    return written(body, serial, this.#algorithm, this.#issuer.key)
  }

  #subjectKeyIdentifier(publicKey: Buffer): Buffer {
    return tlv(
      tag.sequence,
      this.#identifiers.subjectKeyIdentifier,
      tlv(tag.octetString, tlv(tag.octetString, keyIdentifierOf(publicKey))),
    )
  }
}

/** The subject with that common name; empty if it is too long or there is none. */
export function subjectOf(
  commonName: string,
  identifiers: ReturnType<typeof leafIdentifiers>,
): { readonly der: Buffer; readonly hasName: boolean } {
  if (commonName === '' || commonName.length > MAX_COMMON_NAME) return { der: EMPTY_NAME, hasName: false }
  const attribute = tlv(tag.sequence, identifiers.commonName, utf8String(commonName))
  return { der: tlv(tag.sequence, tlv(tag.set, attribute)), hasName: true }
}

/** The extension with all names. Critical if there is nothing else to know the subject by (RFC 5280 §4.2.1.6). */
export function subjectAltName(
  fields: Pick<LeafFields, 'dnsNames' | 'uris' | 'ipAddresses'>,
  identifiers: ReturnType<typeof leafIdentifiers>,
  critical: boolean,
): Buffer {
  const names = [
    ...fields.dnsNames.map((name) => tlv(DNS_NAME, Buffer.from(name, 'latin1'))),
    ...fields.uris.map((uri) => tlv(URI, Buffer.from(uri, 'latin1'))),
    ...fields.ipAddresses.map((address) => tlv(IP_ADDRESS, address)),
  ]
  return tlv(
    tag.sequence,
    critical ? identifiers.criticalSubjectAltName : identifiers.subjectAltName,
    tlv(tag.octetString, tlv(tag.sequence, ...names)),
  )
}

/**
 * The bytes of an IP address.
 *
 * @throws OsmError with code `OSM_CERT_REQUEST`
 */
export function addressOctets(address: string): Buffer {
  const octets = ipOctets(address)
  if (octets !== undefined) return octets
  throw new OsmError<CertificateErrorCode>('OSM_CERT_REQUEST', `${JSON.stringify(address)} is not an IP address`)
}

/** What a root is made from. */
export interface RootFields {
  readonly commonName: string
  /** Organizational unit. */
  readonly unit: string
  readonly notBefore: number
  readonly notAfter: number
  readonly publicKey: Buffer
  readonly key: KeyObject
}

/** A self-signed root that may sign leaves and nothing that signs in turn. */
export async function writeRoot(fields: RootFields): Promise<WrittenCertificate> {
  const serial = randomSerial()
  const name = rootName(fields.commonName, fields.unit)
  const algorithm = signatureAlgorithmOf(fields.key, 'new root')
  const body = tlv(
    tag.sequence,
    VERSION_3,
    unsignedInteger(serial),
    algorithm.der,
    name,
    tlv(tag.sequence, time(fields.notBefore), time(fields.notAfter)),
    name,
    fields.publicKey,
    tlv(EXTENSIONS, tlv(tag.sequence, rootExtensions(keyIdentifierOf(fields.publicKey)))),
  )
  return written(body, serial, algorithm, fields.key)
}

/** Key identifier by RFC 7093 §2 method 4: the first 160 bits of the SHA-256 of the whole SubjectPublicKeyInfo. */
function keyIdentifierOf(publicKey: Buffer): Buffer {
  return hash('sha256', publicKey, 'buffer').subarray(0, 20)
}

async function written(
  body: Buffer,
  serial: Buffer,
  algorithm: SignatureAlgorithm,
  key: KeyObject,
): Promise<WrittenCertificate> {
  const der = tlv(tag.sequence, body, algorithm.der, bitString(await signed(body, algorithm, key)))
  return { der, pem: pem('CERTIFICATE', der), serialNumber: serial.toString('hex').toUpperCase() }
}

/** ECDSA signs faster than a thread can be woken; RSA takes milliseconds and goes to the thread pool. */
function signed(body: Buffer, algorithm: SignatureAlgorithm, key: KeyObject): Buffer | Promise<Buffer> {
  if (key.asymmetricKeyType === 'ec') return sign(algorithm.hash, body, key)
  return new Promise((resolve, reject) => {
    sign(algorithm.hash, body, key, (error, signature) => {
      if (error) reject(error)
      else resolve(signature)
    })
  })
}

/**
 * 127 random bits: positive, unguessable, and at most 20 octets as RFC 5280 §4.1.2.2 asks. Without leading zero octets.
 */
function randomSerial(): Buffer {
  const serial = randomBytes(16)
  serial.writeUInt8(serial.readUInt8(0) & 0x7f, 0)
  const start = serial.findIndex((octet) => octet !== 0)
  return serial.subarray(start)
}
