import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'

/**
 * The least work that issuing a certificate can be with the calls that one would reach for first: make a key, export
 * both halves of it, put the bytes of the certificate together by hand, sign them. No names are checked, nothing is
 * kept, nothing can be configured.
 *
 * The certificate is the one that the product issues for the same names: the same fields, extensions and sizes.
 */
export interface CertificateFloor {
  /** Issues one certificate and returns its DER and the PEM of its key. */
  issue(): { readonly der: Buffer; readonly privateKey: string }
  /** The key that signs. */
  readonly issuerKey: KeyObject
}

/** What the floor writes into its certificates. */
export interface FloorNames {
  readonly commonName: string
  readonly dnsNames: readonly string[]
  readonly uri: string
}

const ECDSA_WITH_SHA256 = hex('300a06082a8648ce3d040302')
const VERSION = hex('a003020102')
const COMMON_NAME = hex('0603550403')
const CONSTANT_EXTENSIONS = hex(
  '300c0603551d130101ff04023000' + // basicConstraints, critical: no CA
    '300e0603551d0f0101ff040403020780' + // keyUsage, critical: digitalSignature
    '301d0603551d250416301406082b0601050507030106082b06010505070302', // extKeyUsage: server, client
)
const KEY_IDENTIFIER = hex('0603551d0e')
const ALTERNATIVE_NAMES = hex('0603551d11')

export function createCertificateFloor(names: FloorNames): CertificateFloor {
  const issuer = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuerName = tlv(
    0x30,
    attribute('060355040a', 'Open Service Mesh'),
    attribute('060355040b', 'workload'),
    attribute('0603550403', 'osm-ca.openservicemesh.io'),
  )
  const authorityKeyIdentifier = tlv(
    0x30,
    hex('0603551d23'),
    tlv(0x04, tlv(0x30, tlv(0x80, keyIdentifier(issuer.publicKey.export({ type: 'spki', format: 'der' }))))),
  )
  const issue = () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      publicKeyEncoding: { type: 'spki', format: 'der' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })
    const serial = randomBytes(16)
    serial.writeUInt8((serial.readUInt8(0) & 0x7f) | 0x40, 0)
    const now = Date.now()
    const body = tlv(
      0x30,
      VERSION,
      tlv(0x02, serial),
      ECDSA_WITH_SHA256,
      issuerName,
      tlv(0x30, utcTime(now - 60_000), utcTime(now + 86_400_000)),
      tlv(0x30, tlv(0x31, tlv(0x30, COMMON_NAME, tlv(0x0c, Buffer.from(names.commonName))))),
      publicKey,
      tlv(
        0xa3,
        tlv(
          0x30,
          CONSTANT_EXTENSIONS,
          authorityKeyIdentifier,
          tlv(0x30, KEY_IDENTIFIER, tlv(0x04, tlv(0x04, keyIdentifier(publicKey)))),
          tlv(
            0x30,
            ALTERNATIVE_NAMES,
            tlv(
              0x04,
              tlv(
                0x30,
                ...names.dnsNames.map((name) => tlv(0x82, Buffer.from(name))),
                tlv(0x86, Buffer.from(names.uri)),
              ),
            ),
          ),
        ),
      ),
    )
    const signature = tlv(0x03, hex('00'), sign('sha256', body, issuer.privateKey))
    return { der: tlv(0x30, body, ECDSA_WITH_SHA256, signature), privateKey }
  }
  return { issue, issuerKey: issuer.publicKey }
}

function attribute(oid: string, value: string): Buffer {
  return tlv(0x31, tlv(0x30, hex(oid), tlv(0x0c, Buffer.from(value))))
}

function keyIdentifier(publicKey: Buffer): Buffer {
  return createHash('sha256').update(publicKey).digest().subarray(0, 20)
}

function utcTime(time: number): Buffer {
  return tlv(0x17, Buffer.from(`${new Date(time).toISOString().slice(2, 19).replace(/\D/g, '')}Z`))
}

function tlv(tag: number, ...content: readonly Buffer[]): Buffer {
  const value = Buffer.concat(content)
  if (value.length < 0x80) return Buffer.concat([Buffer.from([tag, value.length]), value])
  if (value.length < 0x100) return Buffer.concat([Buffer.from([tag, 0x81, value.length]), value])
  return Buffer.concat([Buffer.from([tag, 0x82, value.length >> 8, value.length & 0xff]), value])
}

function hex(octets: string): Buffer {
  return Buffer.from(octets, 'hex')
}
