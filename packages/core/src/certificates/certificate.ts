import { inspect } from 'node:util'

import { OsmError, type Credential } from '@osm-ts/driver-api'

import type { CertificateErrorCode } from './errors.js'
import type { CertificateKind } from './kinds.js'

/** What a {@link Certificate} is made from. */
export interface CertificateFields<K extends CertificateKind> {
  readonly kind: K
  readonly commonName: string
  /** PEM, leaf first, root left out unless this is the root. */
  readonly chain: string
  /** PEM, PKCS#8. Secret. Roots, and certificates for the key of a proxy, come without. */
  readonly privateKey?: string
  /** Left out for a root, which issued itself. */
  readonly issuingCA?: Certificate<'root'>
  /** Milliseconds since 1970. */
  readonly notBefore: number
  readonly expiration: number
  /** Hexadecimal. */
  readonly serialNumber: string
}

/**
 * An issued certificate with its key.
 *
 * The private key leaves only through {@link Certificate.privateKey} and {@link Certificate.credential}: it is in no
 * string, JSON or inspection of the object, nor in a clone.
 */
export class Certificate<K extends CertificateKind = CertificateKind> {
  readonly kind: K
  /** The name in full, even where it is too long for the subject of the certificate. */
  readonly commonName: string
  /** PEM, leaf first. */
  readonly chain: string
  /** Hexadecimal. */
  readonly serialNumber: string
  /** Milliseconds since 1970. */
  readonly notBefore: number
  /** Milliseconds since 1970. */
  readonly expiration: number
  readonly #privateKey: string | undefined
  readonly #issuingCA: Certificate<'root'> | undefined

  constructor(fields: CertificateFields<K>) {
    this.kind = fields.kind
    this.commonName = fields.commonName
    this.chain = fields.chain
    this.serialNumber = fields.serialNumber
    this.notBefore = fields.notBefore
    this.expiration = fields.expiration
    this.#privateKey = fields.privateKey
    this.#issuingCA = fields.issuingCA
    Object.freeze(this)
  }

  /** The root that signed this certificate; a root's own is itself. */
  get issuingCA(): Certificate<'root'> {
    // Only a root is constructed without an issuer.
    return this.#issuingCA ?? (this as Certificate as Certificate<'root'>)
  }

  /**
   * PEM, PKCS#8. Secret: hand it to the process that needs it and to nothing else.
   *
   * @throws OsmError with code `OSM_CERT_NO_KEY` if the key is elsewhere: with the provider, or with a proxy
   */
  privateKey(): string {
    if (this.#privateKey !== undefined) return this.#privateKey
    throw new OsmError<CertificateErrorCode>('OSM_CERT_NO_KEY', `${this.toString()} comes without its private key`)
  }

  /** The certificate of a proxy that has the key, as it goes over the driver contract. Holds no secret. */
  credentialWithoutKey(): Credential {
    const { chain, expiration, serialNumber } = this
    return { chain, privateKey: '', key: 'proxy', expiry: new Date(expiration).toISOString(), serialNumber }
  }

  /**
   * The certificate as it goes over the driver contract. Secret.
   *
   * @throws OsmError with code `OSM_CERT_NO_KEY` as {@link privateKey}
   */
  credential(): Credential {
    return {
      chain: this.chain,
      privateKey: this.privateKey(),
      expiry: new Date(this.expiration).toISOString(),
      serialNumber: this.serialNumber,
    }
  }

  toString(): string {
    return `${this.kind} certificate ${this.commonName} (serial ${this.serialNumber})`
  }

  toJSON(): Readonly<Record<string, string>> {
    return {
      kind: this.kind,
      commonName: this.commonName,
      serialNumber: this.serialNumber,
      expiration: new Date(this.expiration).toISOString(),
    }
  }

  [inspect.custom](): string {
    return `Certificate ${JSON.stringify(this.toJSON())}`
  }
}

/** The certificate of one sidecar, for its connection to the control plane. */
export type ProxyCertificate = Certificate<'proxy'>

/** The certificate of a service identity, for connections between sidecars: shared by the sidecars of that identity, or of one of them for its own key. */
export type ServiceCertificate = Certificate<'service'>

/** The certificate of a control-plane server. */
export type ControlPlaneCertificate = Certificate<'control-plane'>

/** A root without its key. */
export type RootCertificate = Certificate<'root'>

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** The certificates in a text, PEM, in its order. Nothing has been looked at but their frames. */
export function pemCertificates(text: string): readonly string[] {
  return text.match(PEM_CERTIFICATE) ?? []
}
