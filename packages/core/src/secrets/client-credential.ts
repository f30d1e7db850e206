import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { inspect } from 'node:util'

import type { Credential } from '@osm-ts/driver-api'

import { pemCertificates } from '../certificates/certificate.js'

/** Keys of the data of a Secret of type kubernetes.io/tls, with the roots of the other side beside. */
const CHAIN = 'tls.crt'
const KEY = 'tls.key'
const ROOTS = 'ca.crt'

/** Least bits of an RSA key that Envoy takes. */
const LEAST_RSA_BITS = 2048
/** Curves of keys that sidecars take, as OpenSSL calls them. */
const CURVES: readonly (string | undefined)[] = ['prime256v1', 'secp384r1', 'secp521r1']

/** What is in a Secret that holds a client certificate. */
export type SecretReading =
  | { readonly usable: true; readonly credential: ClientCredential }
  /** Why it can't be used, in words that quote nothing of it. */
  | { readonly usable: false; readonly fault: string }

/** A client certificate with its key, and the roots that servers are verified by. The key is in no string, JSON or inspection of the object. */
export class ClientCredential {
  readonly #credential: Credential

  constructor(credential: Credential) {
    this.#credential = credential
  }

  /** Tells two contents apart: the certificates in full. */
  get version(): string {
    return [this.#credential.chain, ...(this.#credential.roots ?? [])].join('')
  }

  /** As it goes over the driver contract. Secret. */
  reveal(): Credential {
    return this.#credential
  }

  toJSON(): Readonly<Record<string, string>> {
    const { serialNumber, expiry } = this.#credential
    return { serialNumber, expiry }
  }

  [inspect.custom](): string {
    return `ClientCredential ${JSON.stringify(this.toJSON())}`
  }
}

/** Reads the decoded data of a Secret. Everything that a sidecar would refuse is a fault here: it must not be found out by traffic. */
export function readClientCredential(data: Readonly<Record<string, string>>): SecretReading {
  const missing = [CHAIN, KEY, ROOTS].filter((name) => (data[name] ?? '') === '')
  if (missing.length > 0) return fault(`holds no ${missing.join(', no ')}`)
  const chain = certificates(data[CHAIN])
  const [leaf] = chain
  if (leaf === undefined) return fault(`${CHAIN} holds no certificate, or one that cannot be read`)
  const roots = certificates(data[ROOTS])
  if (roots.length === 0) return fault(`${ROOTS} holds no certificate, or one that cannot be read`)
  const key = privateKey(data[KEY])
  if (key === undefined) return fault(`${KEY} holds no private key that can be read without a passphrase`)
  const unsuited = unsuitable(key)
  if (unsuited !== undefined) return fault(`${KEY} ${unsuited}`)
  if (!leaf.checkPrivateKey(key)) return fault(`${KEY} is not the key of the first certificate of ${CHAIN}`)
  return {
    usable: true,
    credential: new ClientCredential({
      chain: chain.map(String).join(''),
      privateKey: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
      expiry: new Date(leaf.validTo).toISOString(),
      serialNumber: leaf.serialNumber.toLowerCase(),
      roots: roots.map(String),
    }),
  }
}

/** All certificates of a text; none if one of them can't be read, since the rest would stand for something else. */
function certificates(text = ''): readonly X509Certificate[] {
  try {
    return pemCertificates(text).map((pem) => new X509Certificate(pem))
  } catch {
    return []
  }
}

function privateKey(text = ''): KeyObject | undefined {
  try {
    return createPrivateKey(text)
  } catch {
    // What the library says may quote the text.
    return undefined
  }
}

function unsuitable(key: KeyObject): string | undefined {
  const { modulusLength = 0, namedCurve } = createPublicKey(key).asymmetricKeyDetails ?? {}
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return modulusLength >= LEAST_RSA_BITS
        ? undefined
        : `is an RSA key of ${modulusLength} bits; at least ${LEAST_RSA_BITS} are needed`
    case 'ec':
      return CURVES.includes(namedCurve) ? undefined : 'is on a curve other than P-256, P-384 and P-521'
    default:
      return 'is neither RSA nor ECDSA'
  }
}

function fault(text: string): SecretReading {
  return { usable: false, fault: text }
}
