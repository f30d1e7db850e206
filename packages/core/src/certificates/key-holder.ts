import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'

import { OsmError } from '@osm-ts/driver-api'

import type { SigningRequest } from './certificate-provider.js'

/** Somebody whose certificate is signed for a key of its own: a proxy in one of its sessions, or one that starts. */
export type KeyHolder = HolderIdentity & (CertifiedKey | ProvenKey)

interface HolderIdentity {
  /** Tells its certificate from those of other holders, and of the same one with another key. Holds no secret. */
  readonly id: string
  /** Common name of the proxy certificate, for the audit log. */
  readonly commonName: string
  /** Where the holder runs, and so what its proof was: in a pod of the mesh if absent. */
  readonly place?: 'machine' | 'dashboard'
}

/** The key of a proxy certificate that is in force. */
interface CertifiedKey {
  /** DER of the proxy certificate. TLS has verified it, and that the peer holds its key. */
  readonly certificate: Uint8Array
}

/** A key without a certificate. */
interface ProvenKey {
  /** SubjectPublicKeyInfo, DER. The caller has verified a signature by this key. */
  readonly publicKey: Uint8Array
}

const CURVES: readonly string[] = ['prime256v1', 'secp384r1']
const RSA_BITS = { min: 2048, max: 4096 } as const

/**
 * The key that a holder has proven to hold, if a certificate may be signed for it. Nothing else of its certificate counts: the names of the new one are those of
 * the subject.
 *
 * @throws OsmError with code `OSM_PROXY_KEY` for a weak key, or one that sidecars do not support
 */
export function publicKeyOf(holder: KeyHolder): Pick<SigningRequest, 'publicKey' | 'algorithm'> {
  const key = keyOf(holder)
  const { namedCurve = '', modulusLength = 0 } = key.asymmetricKeyDetails ?? {}
  const publicKey = key.export({ type: 'spki', format: 'der' })
  if (key.asymmetricKeyType === 'ec' && CURVES.includes(namedCurve)) return { publicKey, algorithm: 'ECDSA' }
  const isRsa = key.asymmetricKeyType === 'rsa'
  if (isRsa && modulusLength >= RSA_BITS.min && modulusLength <= RSA_BITS.max) return { publicKey, algorithm: 'RSA' }
  const found = isRsa ? `RSA of ${modulusLength} bits` : [key.asymmetricKeyType, namedCurve].join(' ').trim()
  throw new OsmError(
    'OSM_PROXY_KEY',
    `the key of a proxy certificate must be ECDSA on P-256 or P-384, or RSA of ${RSA_BITS.min} to ${RSA_BITS.max} bits, not ${found}`,
  )
}

function keyOf(holder: KeyHolder): KeyObject {
  if ('certificate' in holder) return new X509Certificate(holder.certificate).publicKey
  return createPublicKey({ key: Buffer.from(holder.publicKey), format: 'der', type: 'spki' })
}
