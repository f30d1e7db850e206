import { createPrivateKey, sign } from 'node:crypto'

import type { LeafNames } from './certificate-provider.js'
import { bitString, pem, tag, tlv, unsignedInteger } from './der.js'
import type { KeyPair } from './key-pair.js'
import { addressOctets, subjectAltName, subjectOf } from './x509.js'
import { leafIdentifiers, signatureAlgorithmOf } from './x509-fragments.js'

/** Context tag of the attributes of a request. */
const ATTRIBUTES = 0xa0
/** extensionRequest, 1.2.840.113549.1.9.14 (RFC 2985 §5.4.2), encoded. */
const EXTENSION_REQUEST = Buffer.from('06092a864886f70d01090e', 'hex')

/**
 * Writes a request for a certificate (PKCS#10, RFC 2986) in PEM: the names as alternative names, and the common name as subject where it is a DNS name that fits.
 *
 * Key usages are left to the authority: those that compare them with their own settings refuse requests that say more.
 */
export function writeCertificateRequest(names: Omit<LeafNames, 'kind'>, pair: KeyPair): string {
  const key = createPrivateKey(pair.privateKey)
  const algorithm = signatureAlgorithmOf(key, 'new key')
  const identifiers = leafIdentifiers()
  // Authorities take a common name for a host name, and refuse any other.
  const subject = subjectOf(names.dnsNames.includes(names.commonName) ? names.commonName : '', identifiers)
  const fields = { ...names, ipAddresses: names.ipAddresses.map(addressOctets) }
  const extensions = tlv(tag.sequence, subjectAltName(fields, identifiers, !subject.hasName))
  const info = tlv(
    tag.sequence,
    unsignedInteger(Uint8Array.of(0)),
    subject.der,
    pair.publicKey,
    tlv(ATTRIBUTES, tlv(tag.sequence, EXTENSION_REQUEST, tlv(tag.set, extensions))),
  )
  const signature = sign(algorithm.hash, info, key)
  return pem('CERTIFICATE REQUEST', tlv(tag.sequence, info, algorithm.der, bitString(signature)))
}

/**
 * Writes a request that proves a key and asks for nothing else: without subject and attributes. The signer decides on the names.
 *
 * @returns PKCS#10 in PEM
 */
export function writeKeyRequest(pair: KeyPair): string {
  const key = createPrivateKey(pair.privateKey)
  const algorithm = signatureAlgorithmOf(key, 'new key')
  const info = tlv(tag.sequence, unsignedInteger(Uint8Array.of(0)), tlv(tag.sequence), pair.publicKey, tlv(ATTRIBUTES))
  return pem('CERTIFICATE REQUEST', tlv(tag.sequence, info, algorithm.der, bitString(sign(algorithm.hash, info, key))))
}
