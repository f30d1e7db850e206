import { type KeyObject, verify, X509Certificate } from 'node:crypto'

import { DerReader } from '../../certificates/der-reader.js'

/** A signed message (PKCS#7, CMS) with one signer. */
export interface SignedData {
  /** What was signed. */
  readonly content: Buffer
  /** Certificates that came with the message, in its order. Nothing says yet that they belong to the signer. */
  readonly certificates: readonly X509Certificate[]
  readonly signer: Signer
}

interface Signer {
  /** Issuer and serial number of the certificate, in DER. */
  readonly issuer: Buffer
  readonly serialNumber: Buffer
  readonly hash: string
  readonly signature: Buffer
}

const SIGNED_DATA = '2a864886f70d010702'
const DATA = '2a864886f70d010701'
/** SHA-256, SHA-384 and SHA-512. Azure names the signature with RSA in place of the hash. */
const HASHES: ReadonlyMap<string, string> = new Map([
  ['608648016503040201', 'sha256'],
  ['608648016503040202', 'sha384'],
  ['608648016503040203', 'sha512'],
  ['2a864886f70d01010b', 'sha256'],
  ['2a864886f70d01010c', 'sha384'],
  ['2a864886f70d01010d', 'sha512'],
])
const MAX_CERTIFICATES = 8

/**
 * Reads a signed message in DER. Its signature is not verified.
 *
 * @throws Error if it is something else, or has more than documents of Azure have: signed attributes, or several signers
 */
export function readSignedData(der: Buffer): SignedData {
  const outer = new DerReader(der, 'the signed message')
  const message = outer.sequence()
  outer.end()
  expectId(message, SIGNED_DATA)
  const data = message.inside('tagged0').sequence()
  data.skip('integer')
  data.skip('set')
  const encapsulated = data.sequence()
  expectId(encapsulated, DATA)
  const content = encapsulated.inside('tagged0').content('octetString')
  const certificates = readCertificates(data.inside('tagged0'))
  data.optional('tagged1')
  const signers = data.inside('set')
  data.end()
  const signer = readSigner(signers.sequence())
  if (!signers.isEmpty) throw new Error('the signed message has several signers')
  return { content, certificates, signer }
}

/** The certificate of the signer, which has signed the content. */
export function signingCertificate({ content, certificates, signer }: SignedData): X509Certificate {
  const certificate = certificates.find(({ raw }) => {
    const { issuer, serialNumber } = identifiersOf(raw)
    return issuer.equals(signer.issuer) && serialNumber.equals(signer.serialNumber)
  })
  if (certificate === undefined) throw new Error('the signed message has no certificate of its signer')
  const { publicKey } = certificate
  if (!isStrong(publicKey)) throw new Error('the signer has a weak key, or one of another kind than RSA and EC')
  if (!verify(signer.hash, content, publicKey, signer.signature)) throw new Error('the signature does not fit')
  return certificate
}

function readCertificates(reader: DerReader): readonly X509Certificate[] {
  const certificates: X509Certificate[] = []
  while (!reader.isEmpty) {
    if (certificates.length === MAX_CERTIFICATES)
      throw new Error(`the signed message has more than ${MAX_CERTIFICATES} certificates`)
    certificates.push(new X509Certificate(reader.whole('sequence')))
  }
  return certificates
}

function readSigner(signer: DerReader): Signer {
  signer.skip('integer')
  const id = signer.sequence()
  const issuer = id.whole('sequence')
  const serialNumber = id.content('integer')
  id.end()
  const hash = HASHES.get(signer.sequence().content('objectId').toString('hex'))
  if (hash === undefined) throw new Error('the signed message has another hash than SHA-256, SHA-384 and SHA-512')
  if (signer.optional('tagged0') !== undefined) throw new Error('the signed message has signed attributes')
  signer.skip('sequence')
  const signature = signer.content('octetString')
  signer.optional('tagged1')
  signer.end()
  return { issuer, serialNumber, hash, signature }
}

function identifiersOf(certificate: Buffer): Pick<Signer, 'issuer' | 'serialNumber'> {
  const signed = new DerReader(certificate, 'the certificate').sequence().sequence()
  signed.optional('tagged0')
  const serialNumber = signed.content('integer')
  signed.skip('sequence')
  return { issuer: signed.whole('sequence'), serialNumber }
}

function isStrong({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  if (asymmetricKeyType === 'ec') return true
  return asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= 2_048
}

function expectId(reader: DerReader, id: string): void {
  if (reader.content('objectId').toString('hex') !== id) throw new Error('the message is not signed data of PKCS#7')
}
