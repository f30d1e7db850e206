import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto'

import { DerError, DerReader } from '@osm-ts/core'

/** How a kubelet proves that it has the key of a pod. */
export type KeyProof =
  /** A request as PKCS#10 in DER, without any name. */
  | { readonly form: 'request'; readonly request: Buffer }
  /** SubjectPublicKeyInfo in DER, and a signature of the uid of the pod. */
  | { readonly form: 'signature'; readonly publicKey: Buffer; readonly signature: Buffer }

/** Why a key is not taken. */
export interface PodKeyFault {
  readonly reason: 'InvalidRequest' | 'InvalidProof'
  readonly message: string
}

/** Hash of signatures in requests, by the curve of the key. */
const CURVE_HASHES: Readonly<Record<string, string>> = {
  prime256v1: 'sha256',
  secp384r1: 'sha384',
  secp521r1: 'sha512',
}

/**
 * Verifies that the requester has the private key: as the API server does, for which this does not take its word.
 *
 * @returns SubjectPublicKeyInfo in DER, or what is wrong
 */
export function proveKey(proof: KeyProof, podUid: string): Buffer | PodKeyFault {
  try {
    return proof.form === 'request' ? fromRequest(proof.request) : fromSignature(proof, podUid)
  } catch (error) {
    if (error instanceof DerError) return invalid(error.message)
    return invalid('its public key cannot be read')
  }
}

function fromSignature(
  { publicKey, signature }: Extract<KeyProof, { form: 'signature' }>,
  podUid: string,
): Buffer | PodKeyFault {
  const key = publicKeyOf(publicKey)
  const padding = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO }
  const isProven = verify(
    key.asymmetricKeyType === 'ed25519' ? null : 'sha256',
    Buffer.from(podUid, 'ascii'),
    key.asymmetricKeyType === 'rsa' ? { key, ...padding } : key,
    signature,
  )
  return isProven ? publicKey : unproven('the uid of the pod')
}

/** Kubelets leave requests empty. What one says beside its key is the wish of somebody else. */
function fromRequest(der: Buffer): Buffer | PodKeyFault {
  const outer = new DerReader(der, 'the request').sequence()
  const signed = outer.whole('sequence')
  outer.skip('sequence')
  const signature = outer.bitString()
  outer.end()
  const info = new DerReader(signed, 'the request').sequence()
  info.skip('integer')
  const subject = info.sequence()
  const publicKey = info.whole('sequence')
  const attributes = info.optional('tagged0')
  info.end()
  if (!subject.isEmpty || (attributes !== undefined && attributes.length > 0))
    return invalid('it asks for names or extensions; the signer decides on both')
  const key = publicKeyOf(publicKey)
  const { namedCurve = '' } = key.asymmetricKeyDetails ?? {}
  const hash = key.asymmetricKeyType === 'ed25519' ? null : (CURVE_HASHES[namedCurve] ?? 'sha256')
  return verify(hash, signed, key, signature) ? publicKey : unproven('the request')
}

function publicKeyOf(der: Buffer): KeyObject {
  return createPublicKey({ key: der, format: 'der', type: 'spki' })
}

function invalid(message: string): PodKeyFault {
  return { reason: 'InvalidRequest', message: `the request is invalid: ${message}` }
}

function unproven(what: string): PodKeyFault {
  return { reason: 'InvalidProof', message: `the signature of ${what} is not by the key of the request` }
}
