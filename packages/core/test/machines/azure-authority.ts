import { generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto'

import { bitString, pem, tag, time, tlv, unsignedInteger, utf8String } from '../../src/certificates/der.js'

const HOUR_MS = 3_600_000
const YEAR_MS = 365 * 24 * HOUR_MS
const id = (hex: string): Buffer => tlv(0x06, Buffer.from(hex, 'hex'))
const sequence = (...content: readonly Uint8Array[]): Buffer => tlv(tag.sequence, ...content)
const set = (...content: readonly Uint8Array[]): Buffer => tlv(tag.set, ...content)
const ECDSA_SHA256 = sequence(id('2a8648ce3d040302'))
// As Azure names it, whatever the key.
const SHA256 = sequence(id('2a864886f70d01010b'))
const TRUE = tlv(tag.boolean, Uint8Array.of(0xff))
const usages = { server: '2b06010505070301', email: '2b06010505070304' } as const

/** What a certificate of the stand-in says. */
export interface CertificateFacts {
  readonly name: string
  /** Undefined: none. */
  readonly isAuthority?: boolean
  readonly pathLength?: number
  readonly dnsNames?: readonly string[]
  readonly usage?: keyof typeof usages
  /** DER of another extension. */
  readonly extension?: Buffer
  /** Where the certificate of the issuer is. */
  readonly issuerUrl?: string
  /** Milliseconds since 1970. */
  readonly notBefore?: number
  readonly notAfter?: number
}

/** A certificate of the stand-in, with its key. */
export class StandInCertificate {
  readonly name: Buffer
  readonly serialNumber = randomBytes(8)
  readonly der: Buffer
  readonly #key: KeyObject

  /** @param issuer - itself if absent */
  constructor(facts: CertificateFacts, issuer?: StandInCertificate) {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#key = privateKey
    this.name = sequence(set(sequence(id('550403'), utf8String(facts.name))))
    const { notBefore = Date.now() - HOUR_MS, notAfter = Date.now() + YEAR_MS } = facts
    const signed = sequence(
      tlv(0xa0, Buffer.from('020102', 'hex')),
      unsignedInteger(this.serialNumber),
      ECDSA_SHA256,
      issuer?.name ?? this.name,
      sequence(time(notBefore), time(notAfter)),
      this.name,
      publicKey.export({ type: 'spki', format: 'der' }),
      tlv(0xa3, sequence(...extensionsOf(facts))),
    )
    const signature = sign('sha256', signed, issuer === undefined ? privateKey : issuer.#key)
    this.der = sequence(signed, ECDSA_SHA256, bitString(signature))
  }

  get pem(): string {
    return pem('CERTIFICATE', this.der)
  }

  get x509(): X509Certificate {
    return new X509Certificate(this.der)
  }

  /** A message that is signed by this certificate, PKCS#7 in DER. */
  signMessage(content: Buffer, { attributes }: { readonly attributes?: Buffer } = {}): Buffer {
    const signer = sequence(
      unsignedInteger(Uint8Array.of(1)),
      sequence(this.#issuerName(), unsignedInteger(this.serialNumber)),
      SHA256,
      ...(attributes === undefined ? [] : [tlv(0xa0, attributes)]),
      ECDSA_SHA256,
      tlv(tag.octetString, sign('sha256', content, this.#key)),
    )
    const data = sequence(
      unsignedInteger(Uint8Array.of(1)),
      set(SHA256),
      sequence(id('2a864886f70d010701'), tlv(0xa0, tlv(tag.octetString, content))),
      tlv(0xa0, this.der),
      set(signer),
    )
    return sequence(id('2a864886f70d010702'), tlv(0xa0, data))
  }

  #issuerName(): Buffer {
    // Version, serial number and algorithm come first; each name here is shorter than 128 bytes.
    const after = this.der.indexOf(ECDSA_SHA256) + ECDSA_SHA256.length
    return this.der.subarray(after, after + 2 + (this.der[after + 1] ?? 0))
  }
}

/** What a document of the stand-in says. */
export interface DocumentFacts {
  readonly nonce: string
  readonly vmId: string
  readonly subscriptionId: string
  /** Milliseconds since 1970. */
  readonly createdAt?: number
  readonly expiresAt?: number
}

/** An authority as that of Azure's metadata service: a root, an authority below it, and the certificate of the service. */
export class AzureAuthority {
  readonly root = new StandInCertificate({ name: 'Stand-in Root', isAuthority: true })
  readonly issuer: StandInCertificate
  readonly signer: StandInCertificate

  constructor(signer: Partial<CertificateFacts> = {}, issuer: Partial<CertificateFacts> = {}) {
    const authority = { name: 'Stand-in TLS Issuing CA', isAuthority: true, pathLength: 0, usage: 'server' } as const
    this.issuer = new StandInCertificate({ ...authority, ...issuer }, this.root)
    const names = ['metadata.azure.com', 'westeurope.metadata.azure.com']
    this.signer = new StandInCertificate(
      { name: names[0] ?? '', dnsNames: names, usage: 'server', ...signer },
      this.issuer,
    )
  }

  /** A document as the metadata service makes it, in base64. */
  document(facts: DocumentFacts): string {
    return this.signer.signMessage(documentContent(facts)).toString('base64')
  }
}

/** What the metadata service signs. */
export function documentContent({
  nonce,
  vmId,
  subscriptionId,
  createdAt = Date.now(),
  expiresAt = createdAt + 6 * HOUR_MS,
}: DocumentFacts): Buffer {
  const plan = { name: '', product: '', publisher: '' }
  const timeStamp = { createdOn: azureTime(createdAt), expiresOn: azureTime(expiresAt) }
  return Buffer.from(JSON.stringify({ licenseType: '', nonce, plan, sku: '12-gen2', subscriptionId, timeStamp, vmId }))
}

function azureTime(time: number): string {
  const [, year, month, day, rest] = /^\d\d(\d\d)-(\d\d)-(\d\d)T([\d:]{8})/.exec(new Date(time).toISOString()) ?? []
  return `${month}/${day}/${year} ${rest} -0000`
}

function extensionsOf(facts: CertificateFacts): readonly Buffer[] {
  const { isAuthority = false, pathLength, dnsNames = [], usage, issuerUrl, extension } = facts
  const constraints = isAuthority
    ? sequence(TRUE, ...(pathLength === undefined ? [] : [unsignedInteger(Uint8Array.of(pathLength))]))
    : sequence()
  const keyUsage = Buffer.from(isAuthority ? '03020106' : '03020780', 'hex')
  const names = dnsNames.map((name) => tlv(0x82, Buffer.from(name)))
  return [
    sequence(id('551d13'), TRUE, tlv(tag.octetString, constraints)),
    sequence(id('551d0f'), TRUE, tlv(tag.octetString, keyUsage)),
    ...(names.length === 0 ? [] : [sequence(id('551d11'), tlv(tag.octetString, sequence(...names)))]),
    ...(usage === undefined ? [] : [sequence(id('551d25'), tlv(tag.octetString, sequence(id(usages[usage]))))]),
    ...(issuerUrl === undefined
      ? []
      : [
          sequence(
            id('2b06010505070101'),
            tlv(tag.octetString, sequence(sequence(id('2b06010505073002'), tlv(0x86, Buffer.from(issuerUrl))))),
          ),
        ]),
    ...(extension === undefined ? [] : [extension]),
  ]
}
