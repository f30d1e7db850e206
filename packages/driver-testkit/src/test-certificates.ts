import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto'

import type { Credential, TrustBundle } from '@osm-ts/driver-api'
import { ipOctets } from '@osm-ts/driver-api/toolkit'

/** A certificate authority that exists as long as a test. */
export interface TestAuthority {
  readonly certificate: string
  readonly bundle: TrustBundle
  /** A certificate for clients and servers. */
  issue(commonName: string, options?: LeafOptions): Credential
  /** A certificate for a key that somebody else holds: that of a certificate, in DER. */
  issueFor(certificate: Uint8Array, commonName: string, options?: LeafOptions): Credential
}

/** What a certificate says beside its common name. */
export interface LeafOptions {
  /** Alternative names, which may be addresses as well; the common name if absent. */
  readonly dns?: readonly string[]
  readonly uris?: readonly string[]
  /** Yesterday if absent. */
  readonly notBefore?: Date
  /** Tomorrow if absent. */
  readonly notAfter?: Date
}

const tlv = (tag: number, ...contents: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(contents)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  const bytes = Buffer.from(length.toString(16).padStart(length > 0xff ? 4 : 2, '0'), 'hex')
  return Buffer.concat([Buffer.from([tag, 0x80 | bytes.length]), bytes, content])
}
const sequence = (...contents: readonly Uint8Array[]) => tlv(0x30, ...contents)
const oid = (...arcs: readonly number[]) => {
  const [first = 0, second = 0, ...rest] = arcs
  const bytes = rest.flatMap((arc) => {
    const digits = [arc & 0x7f]
    for (let left = arc >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80)
    return digits
  })
  return tlv(0x06, Buffer.from([first * 40 + second, ...bytes]))
}
const boolean = () => tlv(0x01, Buffer.from([0xff]))
const commonNameOf = (name: string) => sequence(tlv(0x31, sequence(oid(2, 5, 4, 3), tlv(0x0c, Buffer.from(name)))))
const time = (date: Date) => tlv(0x18, Buffer.from(`${date.toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`))
const ecdsaWithSha256 = sequence(oid(1, 2, 840, 10045, 4, 3, 2))
const extension = (id: Buffer, critical: boolean, value: Buffer) =>
  sequence(id, ...(critical ? [boolean()] : []), tlv(0x04, value))

/** A DNS name, or an address. */
const nameOf = (name: string) => {
  const octets = ipOctets(name)
  return octets === undefined ? tlv(0x82, Buffer.from(name)) : tlv(0x87, octets)
}

const uriOf = (uri: string) => tlv(0x86, Buffer.from(uri))

const DAY_MS = 24 * 60 * 60 * 1000

/** P-256 and nothing optional: just what a handshake looks at. */
function certificate(
  subject: string,
  key: KeyObject,
  issuer: Uint8Array,
  issuerKey: KeyObject,
  { dns, uris = [], ...validity }: LeafOptions = {},
) {
  const { notBefore = new Date(Date.now() - DAY_MS), notAfter = new Date(Date.now() + DAY_MS) } = validity
  const isAuthority = dns === undefined
  const extensions = isAuthority
    ? [extension(oid(2, 5, 29, 19), true, sequence(boolean()))]
    : [
        extension(oid(2, 5, 29, 37), false, sequence(oid(1, 3, 6, 1, 5, 5, 7, 3, 1), oid(1, 3, 6, 1, 5, 5, 7, 3, 2))),
        extension(oid(2, 5, 29, 17), false, sequence(...dns.map(nameOf), ...uris.map(uriOf))),
      ]
  const serial = Buffer.concat([Buffer.from([0x40]), randomBytes(8)])
  const body = sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    tlv(0x02, serial),
    ecdsaWithSha256,
    issuer,
    sequence(time(notBefore), time(notAfter)),
    commonNameOf(subject),
    key.export({ type: 'spki', format: 'der' }),
    tlv(0xa3, sequence(...extensions)),
  )
  const signature = sign('sha256', body, issuerKey)
  const der = sequence(body, ecdsaWithSha256, tlv(0x03, Buffer.from([0]), signature))
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return {
    pem: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    serialNumber: serial.toString('hex'),
    expiry: notAfter.toISOString(),
  }
}

export function testAuthority(name: string): TestAuthority {
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuer = commonNameOf(name)
  const root = certificate(name, own.publicKey, issuer, own.privateKey)
  return authority({ pem: root.pem, id: root.serialNumber, issuer, key: own.privateKey })
}

/**
 * An authority that exists already.
 *
 * @param pem - certificate of a root
 * @param privateKey - its key, as PEM; on the curve P-256
 */
export function authorityOf(pem: string, privateKey: string): TestAuthority {
  const { raw, serialNumber } = new X509Certificate(pem)
  return authority({ pem, id: serialNumber, issuer: subjectOf(raw), key: createPrivateKey(privateKey) })
}

function authority(root: {
  readonly pem: string
  readonly id: string
  /** Its subject as DER: names are compared byte by byte. */
  readonly issuer: Uint8Array
  readonly key: KeyObject
}): TestAuthority {
  return {
    certificate: root.pem,
    bundle: { id: root.id, certificates: [root.pem] },
    issueFor(holder, commonName, { dns = [commonName], ...others } = {}) {
      const { publicKey } = new X509Certificate(holder)
      const leaf = certificate(commonName, publicKey, root.issuer, root.key, { dns, ...others })
      return { chain: leaf.pem, privateKey: '', key: 'proxy', expiry: leaf.expiry, serialNumber: leaf.serialNumber }
    },
    issue(commonName, { dns = [commonName], ...others } = {}) {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const leaf = certificate(commonName, publicKey, root.issuer, root.key, { dns, ...others })
      return {
        chain: leaf.pem,
        privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
        expiry: leaf.expiry,
        serialNumber: leaf.serialNumber,
      }
    },
  }
}

/** The subject of a certificate as DER: behind version, serial number, algorithm, issuer and validity (RFC 5280, 4.1). */
function subjectOf(der: Buffer): Uint8Array {
  const body = elementAt(der, elementAt(der, 0).content)
  let at = body.content
  for (let skipped = 0; skipped < 5; skipped += 1) at = elementAt(der, at).end
  return der.subarray(at, elementAt(der, at).end)
}

/** Where the element of DER that begins there has its content, and where it ends. */
function elementAt(der: Buffer, at: number): { readonly content: number; readonly end: number } {
  const first = der.readUInt8(at + 1)
  const octets = first < 0x80 ? 0 : first & 0x7f
  const content = at + 2 + octets
  return { content, end: content + (octets === 0 ? first : der.readUIntBE(at + 2, octets)) }
}
