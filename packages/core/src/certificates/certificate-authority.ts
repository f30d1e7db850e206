import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'

import { OsmError } from '@osm-ts/driver-api'

import type { CaMaterial } from './ca-store.js'
import type { SignedLeaf, SigningRequest } from './certificate-provider.js'
import { Certificate, type RootCertificate } from './certificate.js'
import type { CertificateErrorCode } from './errors.js'
import { generateKeyPairFor, type KeySpec } from './key-pair.js'
import type { Authority } from './kinds.js'
import { rootTexts } from './root-texts.js'
import { addressOctets, LeafWriter, writeRoot } from './x509.js'
import { issuerFieldsOf } from './x509-fragments.js'

/** Common name of the roots that are made here. */
export const ROOT_COMMON_NAME = 'osm-ca.openservicemesh.io'

/** Certificates are valid from a minute ago, for verifiers whose clock is behind. */
const BACKDATING_MS = 60_000
const ROOT_VALIDITY_YEARS = 10

/** One root with its key: signs leaves. */
export class CertificateAuthority {
  readonly root: RootCertificate
  /** PEM of each root that the store wants trusted, the one that signs first. */
  readonly trusted: readonly string[]
  readonly #writer: LeafWriter

  private constructor(root: RootCertificate, trusted: readonly string[], writer: LeafWriter) {
    this.root = root
    this.trusted = trusted
    this.#writer = writer
  }

  /**
   * Reads a stored root and makes sure that verifiers will accept what it signs. More certificates after the first are
   * those of roots that are trusted as well, because they have signed before or will sign next.
   *
   * @throws OsmError with code `OSM_CERT_STORE_CORRUPT`, `OSM_CERT_CA_INVALID`, `OSM_CERT_CA_EXPIRED` or
   * `OSM_CERT_ROOTS_BOUND`, naming where the root came from
   */
  static read(material: CaMaterial, now: number): CertificateAuthority {
    const { origin } = material
    const [certificate, ...others] = readCertificates(material)
    const key = readPrivateKey(material)
    if (!certificate.checkPrivateKey(key))
      throw corrupt(origin.privateKey, `not the key of the certificate ${origin.certificate}`)
    if (![certificate, ...others].every(({ ca }) => ca))
      throw new OsmError<CertificateErrorCode>(
        'OSM_CERT_CA_INVALID',
        `${origin.certificate}: not the certificate of a CA`,
      )
    const root: RootCertificate = new Certificate({
      kind: 'root',
      commonName: /^CN=(.+)$/m.exec(certificate.subject)?.[1] ?? ROOT_COMMON_NAME,
      chain: certificate.toString(),
      notBefore: Date.parse(certificate.validFrom),
      expiration: Date.parse(certificate.validTo),
      serialNumber: certificate.serialNumber,
    })
    checkValidity(root, origin.certificate, now)
    const writer = new LeafWriter({ ...issuerFieldsOf(certificate.raw), key, origin: origin.privateKey })
    const trusted = new Set([root.chain, ...others.map((other) => other.toString())])
    return new CertificateAuthority(root, [...trusted], writer)
  }

  /**
   * Signs a leaf for the public key of the request.
   *
   * @throws OsmError with code `OSM_CERT_CA_EXPIRED` or `OSM_CERT_REQUEST`
   */
  async sign(request: SigningRequest, now: number): Promise<SignedLeaf> {
    const { commonName, dnsNames, uris, ipAddresses, validityMs, publicKey, algorithm } = request
    checkValidity(this.root, this.root.toString(), now)
    const notBefore = wholeSeconds(Math.max(now - BACKDATING_MS, this.root.notBefore))
    const expiration = wholeSeconds(Math.min(now + validityMs, this.root.expiration))
    if (!(expiration > now)) {
      throw new OsmError<CertificateErrorCode>(
        'OSM_CERT_REQUEST',
        `${commonName}: a certificate lives for a second at least, not ${validityMs} ms`,
      )
    }
    const { pem, serialNumber } = await this.#writer.write({
      commonName,
      dnsNames,
      uris,
      ipAddresses: ipAddresses.map(addressOctets),
      notBefore,
      notAfter: expiration,
      publicKey,
      algorithm,
    })
    return { chain: pem, root: this.root, notBefore, expiration, serialNumber }
  }
}

/** Makes a new root with its key, PEM. The caller stores it before anything is signed with it. */
export async function generateRoot(
  authority: Authority,
  spec: KeySpec,
  now: number,
): Promise<{ readonly certificate: string; readonly privateKey: string }> {
  const { publicKey, privateKey } = await generateKeyPairFor(spec)
  const end = new Date(now)
  end.setUTCFullYear(end.getUTCFullYear() + ROOT_VALIDITY_YEARS)
  const { pem } = await writeRoot({
    commonName: ROOT_COMMON_NAME,
    unit: authority,
    notBefore: now - BACKDATING_MS,
    notAfter: end.getTime(),
    publicKey,
    key: createPrivateKey(privateKey),
  })
  return { certificate: pem, privateKey }
}

function readCertificates({ certificate, origin }: CaMaterial): readonly [X509Certificate, ...X509Certificate[]] {
  const [first = '', ...others] = rootTexts(certificate, origin.certificate)
  try {
    return [new X509Certificate(first), ...others.map((other) => new X509Certificate(other))]
  } catch (error) {
    throw corrupt(origin.certificate, 'not a certificate in PEM', error)
  }
}

/** Without a cause: no one has to wonder whether OpenSSL's error quotes what it was given. */
function readPrivateKey(material: CaMaterial): KeyObject {
  try {
    return createPrivateKey(material.privateKey())
  } catch {
    throw corrupt(material.origin.privateKey, 'not a private key in PEM')
  }
}

function checkValidity(root: RootCertificate, what: string, now: number): void {
  if (now >= root.notBefore && now < root.expiration) return
  const from = new Date(root.notBefore).toISOString()
  const to = new Date(root.expiration).toISOString()
  throw new OsmError<CertificateErrorCode>('OSM_CERT_CA_EXPIRED', `${what} is valid from ${from} to ${to} only`)
}

function corrupt(path: string, what: string, cause?: unknown): OsmError {
  return new OsmError<CertificateErrorCode>(
    'OSM_CERT_STORE_CORRUPT',
    `${path}: ${what}; restore it, or remove certificate and key to start over with a new root`,
    { cause, details: { path } },
  )
}

function wholeSeconds(time: number): number {
  return Math.floor(time / 1000) * 1000
}
