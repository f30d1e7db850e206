import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

import {
  bitString,
  pem,
  tag,
  time,
  tlv,
  unsignedInteger,
  utf8String,
} from '../../packages/core/src/certificates/der.js'

/** Moment in which every certificate made here is valid. */
export const NOW = Date.UTC(2030, 0, 1)

const DAY_MS = 86_400_000
/** Object identifiers in DER. */
const oid = {
  commonName: Buffer.from('0603550403', 'hex'),
  ecdsaWithSha256: Buffer.from('06082a8648ce3d040302', 'hex'),
  subjectAltName: Buffer.from('0603551d11', 'hex'),
  basicConstraints: Buffer.from('0603551d13', 'hex'),
  extKeyUsage: Buffer.from('0603551d25', 'hex'),
  clientAuth: Buffer.from('06082b06010505070302', 'hex'),
} as const
/** Context tags of general names. */
const generalName = { dns: 0x82, uri: 0x86, address: 0x87 } as const

/** What is in a certificate. Texts go in as they are, whatever they hold. */
export interface CertificateContent {
  readonly commonNames: readonly string[]
  readonly names: readonly { readonly type: keyof typeof generalName; readonly value: string }[]
  /** Bytes that are changed before the certificate is signed: place, and what is put there. */
  readonly edits: readonly (readonly [at: number, byte: number])[]
}

/** Signs certificates with any content, as an authority with a fault would. */
export class CarelessAuthority {
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  /** PEM. */
  readonly root = pem(
    'CERTIFICATE',
    signed(this.#body({ commonNames: ['root'], names: [], edits: [] }, true), this.#keys.privateKey),
  )

  /** DER. */
  issue(content: CertificateContent): Buffer {
    return signed(this.#body(content, false), this.#keys.privateKey)
  }

  #body({ commonNames, names, edits }: CertificateContent, isRoot: boolean): Buffer {
    const body = tlv(
      tag.sequence,
      tlv(0xa0, unsignedInteger(Buffer.of(2))),
      unsignedInteger(Buffer.of(1)),
      tlv(tag.sequence, oid.ecdsaWithSha256),
      nameOf(['root']),
      tlv(tag.sequence, time(NOW - DAY_MS), time(NOW + DAY_MS)),
      nameOf(commonNames),
      this.#keys.publicKey.export({ type: 'spki', format: 'der' }),
      tlv(0xa3, tlv(tag.sequence, ...extensionsOf(names, isRoot))),
    )
    for (const [at, byte] of edits) body[at % body.length] = byte
    return body
  }
}

function extensionsOf(names: CertificateContent['names'], isRoot: boolean): readonly Buffer[] {
  const constraints = isRoot ? tlv(tag.sequence, tlv(tag.boolean, Buffer.of(0xff))) : tlv(tag.sequence)
  const alternatives = names.map(({ type, value }) =>
    tlv(generalName[type], type === 'address' ? Buffer.from(value, 'hex') : Buffer.from(value, 'latin1')),
  )
  return [
    tlv(tag.sequence, oid.basicConstraints, tlv(tag.octetString, constraints)),
    tlv(tag.sequence, oid.extKeyUsage, tlv(tag.octetString, tlv(tag.sequence, oid.clientAuth))),
    ...(alternatives.length === 0
      ? []
      : [tlv(tag.sequence, oid.subjectAltName, tlv(tag.octetString, tlv(tag.sequence, ...alternatives)))]),
  ]
}

function nameOf(commonNames: readonly string[]): Buffer {
  return tlv(
    tag.sequence,
    ...commonNames.map((name) => tlv(tag.set, tlv(tag.sequence, oid.commonName, utf8String(name)))),
  )
}

function signed(body: Buffer, key: KeyObject): Buffer {
  return tlv(tag.sequence, body, tlv(tag.sequence, oid.ecdsaWithSha256), bitString(sign('sha256', body, key)))
}
