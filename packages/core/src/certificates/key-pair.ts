import { createECDH, generateKeyPair } from 'node:crypto'

import { OsmError } from '@osm-ts/driver-api'

import { pem } from './der.js'
import type { CertificateErrorCode } from './errors.js'

/** MeshConfig's `certificate.keyAlgorithm`. */
export type KeyAlgorithm = 'ECDSA' | 'RSA'

/** What keys to make: ECDSA on P-256, or RSA of MeshConfig's `certificate.certKeyBitSize`. */
export type KeySpec = { readonly algorithm: 'ECDSA' } | { readonly algorithm: 'RSA'; readonly bits: number }

/** A fresh key pair on its way into a certificate. Never kept or passed on in this form. */
export interface KeyPair {
  readonly algorithm: KeyAlgorithm
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer
  /** PKCS#8, PEM. Secret. */
  readonly privateKey: string
}

const MIN_RSA_BITS = 2048
const MAX_RSA_BITS = 4096

/** SubjectPublicKeyInfo of a P-256 key up to the uncompressed point (RFC 5480). */
const P256_PUBLIC_PREFIX = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d030107034200', 'hex')
/** PKCS#8 of a P-256 key up to the scalar (RFC 5958, RFC 5915). */
const P256_PRIVATE_PREFIX = Buffer.from(
  '308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b0201010420',
  'hex',
)
/** What stands between scalar and uncompressed point. */
const P256_PRIVATE_INFIX = Buffer.from('a144034200', 'hex')

/**
 * Makes P-256 keys.
 *
 * Keys come from OpenSSL's generator by way of `createECDH`, and their fixed-size encodings are put around them here:
 * OpenSSL's own encoders take six times as long as making a key, and they are all that issuing a certificate would
 * wait for. Setting up the curve takes as long as a key again, so that anyone who makes many keeps one of these. It holds the
 * key that it made last, and nothing gives that out again.
 */
export class EcKeyGenerator {
  readonly #curve = createECDH('prime256v1')

  generate(): KeyPair {
    const point = this.#curve.generateKeys()
    const scalar = this.#curve.getPrivateKey()
    const padding = Buffer.alloc(32 - scalar.length) // getPrivateKey drops leading zeros, the encoding wants 32 octets
    const pkcs8 = Buffer.concat([P256_PRIVATE_PREFIX, padding, scalar, P256_PRIVATE_INFIX, point])
    const privateKey = pem('PRIVATE KEY', pkcs8)
    scalar.fill(0)
    pkcs8.fill(0)
    return { algorithm: 'ECDSA', publicKey: Buffer.concat([P256_PUBLIC_PREFIX, point]), privateKey }
  }
}

/** A fresh P-256 key. */
export function generateEcKeyPair(): KeyPair {
  return new EcKeyGenerator().generate()
}

/**
 * A fresh RSA key, made off the event loop.
 *
 * @throws OsmError with code `OSM_CERT_REQUEST` for a size outside of 2048 to 4096 bits
 */
export async function generateRsaKeyPair(bits: number): Promise<KeyPair> {
  if (!Number.isInteger(bits) || bits < MIN_RSA_BITS || bits > MAX_RSA_BITS) {
    throw new OsmError<CertificateErrorCode>(
      'OSM_CERT_REQUEST',
      `RSA keys have ${MIN_RSA_BITS} to ${MAX_RSA_BITS} bits, not ${bits}`,
    )
  }
  return new Promise((resolve, reject) => {
    const options = {
      modulusLength: bits,
      publicKeyEncoding: { type: 'spki', format: 'der' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    } as const
    generateKeyPair('rsa', options, (error, publicKey, privateKey) => {
      if (error) reject(error)
      else resolve({ algorithm: 'RSA', publicKey, privateKey })
    })
  })
}

/** A fresh key pair as specified. */
export async function generateKeyPairFor(spec: KeySpec): Promise<KeyPair> {
  return spec.algorithm === 'RSA' ? generateRsaKeyPair(spec.bits) : generateEcKeyPair()
}
