import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto'

import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { CaMaterial } from './ca-store.js'
import { CertificateAuthority, generateRoot, ROOT_COMMON_NAME } from './certificate-authority.js'
import type { LeafRequest, SigningRequest } from './certificate-provider.js'
import type { Certificate } from './certificate.js'
import { issueLeaf } from './issue-leaf.js'
import { EcKeyGenerator, generateEcKeyPair, generateRsaKeyPair, type KeyPair, type KeySpec } from './key-pair.js'
import { LeafWriter, writeRoot } from './x509.js'
import { issuerFieldsOf } from './x509-fragments.js'

const now = Date.parse('2026-11-21T10:00:00.500Z')
const HOUR = 3_600_000
const ecdsa: KeySpec = { algorithm: 'ECDSA' }
const origin = { certificate: 'test/ca.crt', privateKey: 'test/ca.key' }
const request: LeafRequest<'service'> = {
  kind: 'service',
  commonName: 'bookbuyer.bookstore.cluster.local',
  dnsNames: ['bookbuyer.bookstore.cluster.local', 'bookbuyer.bookstore.svc.cluster.local'],
  uris: ['spiffe://cluster.local/bookbuyer/bookstore'],
  ipAddresses: [],
  validityMs: 24 * HOUR,
  key: ecdsa,
}

async function authority(spec: KeySpec = ecdsa): Promise<CertificateAuthority> {
  const { certificate, privateKey } = await generateRoot('workload', spec, now)
  return CertificateAuthority.read(new CaMaterial(certificate, privateKey, origin), now)
}

function issue(ca: CertificateAuthority, changes: Partial<LeafRequest<'service'>> = {}, keys?: KeyPair) {
  return issueWith(ca, { ...request, ...changes }, keys ?? generateEcKeyPair(), now)
}

function issueWith(ca: CertificateAuthority, wanted: LeafRequest<'service'>, keys: KeyPair, at: number) {
  const provider = { sign: (signing: SigningRequest) => ca.sign(signing, at) }
  return issueLeaf(provider, wanted, new AbortController().signal, () => keys)
}

function read(certificate: Certificate): X509Certificate {
  return new X509Certificate(certificate.chain)
}

/** Octets of an extension's header: identifier, and the critical flag where there is one. */
const extension = {
  subjectAltName: '0603551d11',
  basicConstraints: '0603551d13',
  keyUsage: '0603551d0f',
  subjectKeyIdentifier: '0603551d0e',
  authorityKeyIdentifier: '0603551d23',
  critical: '0101ff',
}

describe('roots', () => {
  it('are CAs for ten years with the name that OSM uses', async () => {
    const { root } = await authority()
    const certificate = read(root)
    expect(certificate.ca).toBe(true)
    expect(certificate.subject.split('\n')).toEqual(['O=Open Service Mesh', 'OU=workload', `CN=${ROOT_COMMON_NAME}`])
    expect(root.commonName).toBe('osm-ca.openservicemesh.io')
    expect(certificate.issuer).toBe(certificate.subject)
    expect(certificate.verify(certificate.publicKey)).toBe(true)
    expect(certificate.checkIssued(certificate)).toBe(true)
    expect(certificate.publicKey.asymmetricKeyDetails?.namedCurve).toBe('prime256v1')
    expect(new Date(root.expiration).toISOString()).toBe('2036-11-21T10:00:00.000Z')
    expect(new Date(root.notBefore).toISOString()).toBe('2026-11-21T09:59:00.000Z')
    const der = certificate.raw.toString('hex')
    // CA with no further CA below it; signs certificates and revocation lists; both critical
    expect(der).toContain(`${extension.basicConstraints}${extension.critical}040830060101ff020100`)
    expect(der).toContain(`${extension.keyUsage}${extension.critical}040403020106`)
  })

  it('keep their key to themselves', async () => {
    const { root } = await authority()
    expect(root.issuingCA).toBe(root)
    expect(() => root.privateKey()).toThrow(expect.objectContaining({ code: 'OSM_CERT_NO_KEY' }))
    expect(() => root.credential()).toThrow(expect.objectContaining({ code: 'OSM_CERT_NO_KEY' }))
  })

  it('are read with the exact name and key identifier that they have', async () => {
    const { root } = await authority()
    const fields = issuerFieldsOf(read(root).raw)
    const der = read(root).raw.toString('hex')
    expect(der.split(fields.name.toString('hex'))).toHaveLength(3) // issuer and subject
    expect(fields.keyIdentifier).toHaveLength(20)
    expect(der).toContain(`${extension.subjectKeyIdentifier}04160414${fields.keyIdentifier?.toString('hex') ?? ''}`)
  })

  it('may have other kinds of keys, but none that sidecars do not verify', async () => {
    const make = async (key: ReturnType<typeof generateKeyPairSync>) => {
      const { pem } = await writeRoot({
        commonName: ROOT_COMMON_NAME,
        unit: 'workload',
        notBefore: now,
        notAfter: now + HOUR,
        publicKey: key.publicKey.export({ type: 'spki', format: 'der' }),
        key: key.privateKey,
      })
      const material = new CaMaterial(pem, key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), origin)
      return CertificateAuthority.read(material, now)
    }
    for (const accepted of [
      generateKeyPairSync('ec', { namedCurve: 'P-384' }),
      generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ]) {
      const ca = await make(accepted)
      const leaf = read(await issue(ca))
      expect(leaf.verify(read(ca.root).publicKey)).toBe(true)
      expect(leaf.checkIssued(read(ca.root))).toBe(true)
    }
    for (const refused of [
      generateKeyPairSync('ed25519'),
      generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
      generateKeyPairSync('rsa', { modulusLength: 1024 }),
    ]) {
      await expect(make(refused)).rejects.toMatchObject({ code: 'OSM_CERT_CA_INVALID' })
    }
  })
})

describe('leaves', () => {
  it('hold what was requested', async () => {
    const ca = await authority()
    const leaf = await issue(ca)
    const certificate = read(leaf)
    expect(certificate.subject).toBe('CN=bookbuyer.bookstore.cluster.local')
    expect(certificate.subjectAltName).toBe(
      'DNS:bookbuyer.bookstore.cluster.local, DNS:bookbuyer.bookstore.svc.cluster.local, URI:spiffe://cluster.local/bookbuyer/bookstore',
    )
    expect(certificate.ca).toBe(false)
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'])
    expect(certificate.serialNumber).toBe(leaf.serialNumber)
    expect(certificate.checkIssued(read(ca.root))).toBe(true)
    expect(certificate.verify(read(ca.root).publicKey)).toBe(true)
    expect(certificate.checkPrivateKey(createPrivateKey(leaf.privateKey()))).toBe(true)
    expect(Date.parse(certificate.validFrom)).toBe(Date.parse('2026-11-21T09:59:00Z'))
    expect(Date.parse(certificate.validTo)).toBe(Date.parse('2026-11-22T10:00:00Z'))
    expect([leaf.notBefore, leaf.expiration]).toEqual([
      Date.parse(certificate.validFrom),
      Date.parse(certificate.validTo),
    ])
    expect(leaf.issuingCA).toBe(ca.root)
    const der = certificate.raw.toString('hex')
    expect(der).toContain(`${extension.basicConstraints}${extension.critical}04023000`)
    expect(der).toContain(`${extension.keyUsage}${extension.critical}040403020780`) // digitalSignature alone
    const rootKeyId = issuerFieldsOf(read(ca.root).raw).keyIdentifier?.toString('hex') ?? 'none'
    expect(der).toContain(`${extension.authorityKeyIdentifier}041830168014${rootKeyId}`)
    expect(der).toContain(`${extension.subjectKeyIdentifier}04160414`)
    expect(der).not.toContain(`${extension.subjectAltName}${extension.critical}`)
  })

  it('never outlive their root, and are never issued by an expired one', async () => {
    const ca = await authority()
    const late = ca.root.expiration - HOUR
    const leaf = await issueWith(ca, request, generateEcKeyPair(), late)
    expect(leaf.expiration).toBe(ca.root.expiration)
    expect(Date.parse(read(leaf).validTo)).toBe(ca.root.expiration)
    await expect(issueWith(ca, request, generateEcKeyPair(), ca.root.expiration)).rejects.toMatchObject({
      code: 'OSM_CERT_CA_EXPIRED',
    })
    const early = await issueWith(ca, request, generateEcKeyPair(), ca.root.notBefore)
    expect(early.notBefore).toBe(ca.root.notBefore)
  })

  it.each([0, -1, 400, Number.NaN])('are not issued for %d ms', async (validityMs) => {
    const ca = await authority()
    await expect(issue(ca, { validityMs })).rejects.toMatchObject({ code: 'OSM_CERT_REQUEST' })
  })

  it.each<[number, string | undefined, boolean]>([
    [64, 'CN=', false],
    [65, undefined, true],
  ])('with a name of %i characters have the subject %s', async (length, prefix, critical) => {
    const ca = await authority()
    const commonName = `${'a'.repeat(length - '.ns.cluster.local'.length)}.ns.cluster.local`
    const leaf = await issue(ca, { commonName, dnsNames: [commonName] })
    const certificate = read(leaf)
    expect(certificate.subject).toBe(prefix === undefined ? undefined : `${prefix}${commonName}`)
    expect(certificate.subjectAltName).toContain(`DNS:${commonName}`)
    expect(certificate.raw.toString('hex').includes(`${extension.subjectAltName}${extension.critical}`)).toBe(critical)
    expect(leaf.commonName).toBe(commonName)
  })

  it('carry DNS names, URIs and addresses of any number', async () => {
    const ca = await authority()
    const dnsNames = Array.from({ length: 500 }, (_, index) => `service-${index}.namespace.svc.cluster.local`)
    const certificate = read(await issue(ca, { dnsNames, ipAddresses: ['10.1.2.3', 'fe80::1'] }))
    expect(certificate.subjectAltName?.split(', ').filter((name) => name.startsWith('DNS:'))).toHaveLength(500)
    expect(certificate.checkHost('service-499.namespace.svc.cluster.local')).toBeDefined()
    expect(certificate.checkIP('10.1.2.3')).toBe('10.1.2.3')
    expect(certificate.checkIP('fe80::1')).toBe('fe80::1')
    expect(certificate.checkIP('10.1.2.4')).toBeUndefined()
    await expect(issue(ca, { ipAddresses: ['10.1.2'] })).rejects.toMatchObject({ code: 'OSM_CERT_REQUEST' })
  })

  it('have serial numbers that are positive, short enough and never the same', async () => {
    const ca = await authority()
    const keys = generateEcKeyPair()
    const leaves = await Promise.all(Array.from({ length: 600 }, () => issue(ca, {}, keys)))
    const serials = leaves.map(({ serialNumber }) => serialNumber)
    expect(new Set(serials).size).toBe(600)
    for (const leaf of leaves) {
      expect(read(leaf).serialNumber).toBe(leaf.serialNumber)
      expect(BigInt(`0x${leaf.serialNumber}`)).toBeLessThan(1n << 127n)
    }
    expect(serials.some((serial) => BigInt(`0x${serial}`) >= 1n << 126n)).toBe(true)
  })

  it('read back what was written, whatever the names and times', async () => {
    const ca = await authority()
    const label = fc
      .string({ unit: fc.constantFrom('a', 'b', '-', '0'), minLength: 1, maxLength: 20 })
      .map((s) => `x${s}x`)
    const name = fc.array(label, { minLength: 1, maxLength: 8 }).map((labels) => labels.join('.'))
    const property = fc.asyncProperty(
      name,
      fc.uniqueArray(name, { maxLength: 10 }),
      fc.integer({ min: 1000, max: 40 * 365 * 24 * HOUR }),
      async (commonName, others, validityMs) => {
        const leaf = await issue(ca, { commonName, dnsNames: [commonName, ...others], uris: [], validityMs })
        const certificate = read(leaf)
        expect(certificate.subjectAltName).toBe([commonName, ...others].map((dns) => `DNS:${dns}`).join(', '))
        expect(certificate.subject).toBe(commonName.length <= 64 ? `CN=${commonName}` : undefined)
        expect(certificate.raw.toString('hex').includes(`${extension.subjectAltName}${extension.critical}`)).toBe(
          commonName.length > 64,
        )
        expect(Date.parse(certificate.validTo)).toBe(leaf.expiration)
        expect(certificate.verify(read(ca.root).publicKey)).toBe(true)
        expect(certificate.checkIssued(read(ca.root))).toBe(true)
        expect(leaf.commonName).toBe(commonName)
      },
    )
    await fc.assert(property)
  })
})

describe('keys', () => {
  it('on P-256 are encoded octet by octet as OpenSSL encodes them', () => {
    const generator = new EcKeyGenerator()
    const seen = new Set<string>()
    const generate = () => {
      const pair = generator.generate()
      seen.add(pair.privateKey)
      const privateKey = createPrivateKey(pair.privateKey)
      expect(privateKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' })
      expect(privateKey.export({ type: 'pkcs8', format: 'pem' })).toBe(pair.privateKey)
      expect(createPublicKey(privateKey).export({ type: 'spki', format: 'der' })).toEqual(pair.publicKey)
      // The octet after the scalar's header is zero for one key in 256.
      return Buffer.from(pair.privateKey.split('\n').slice(1, -2).join(''), 'base64')[36]
    }
    let keys = 0
    do keys += 1
    while (generate() !== 0 || keys < 50)
    expect(seen.size).toBe(keys)
  })

  it('of RSA have the size that was requested', async () => {
    const pair = await generateRsaKeyPair(3072)
    const privateKey = createPrivateKey(pair.privateKey)
    expect(privateKey.asymmetricKeyType).toBe('rsa')
    expect(privateKey.asymmetricKeyDetails).toMatchObject({ modulusLength: 3072, publicExponent: 65537n })
    expect(createPublicKey(privateKey).export({ type: 'spki', format: 'der' })).toEqual(pair.publicKey)
  })

  it.each([0, 1024, 2047, 2048.5, 4097, Number.NaN])('of RSA never have %d bits', async (bits) => {
    await expect(generateRsaKeyPair(bits)).rejects.toMatchObject({ code: 'OSM_CERT_REQUEST' })
  })

  it('of RSA allow for key transport, under a root of either kind', async () => {
    const keys = await generateRsaKeyPair(2048)
    for (const ca of [await authority(), await authority({ algorithm: 'RSA', bits: 2048 })]) {
      const leaf = await issue(ca, {}, keys)
      const certificate = read(leaf)
      expect(certificate.verify(read(ca.root).publicKey)).toBe(true)
      expect(certificate.checkIssued(read(ca.root))).toBe(true)
      expect(certificate.checkPrivateKey(createPrivateKey(leaf.privateKey()))).toBe(true)
      expect(certificate.raw.toString('hex')).toContain(`${extension.keyUsage}${extension.critical}0404030205a0`)
    }
  })
})

describe('a root of somebody else', () => {
  it('signs under its own name and key identifier, or without one', async () => {
    const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const writer = new LeafWriter({
      name: Buffer.from('3010310e300c06035504030c056f74686572', 'hex'), // CN=other
      keyIdentifier: undefined,
      key: keys.privateKey,
      origin: 'test',
    })
    const { der } = await writer.write({
      commonName: 'a',
      dnsNames: ['a'],
      uris: [],
      ipAddresses: [],
      notBefore: now,
      notAfter: now + HOUR,
      publicKey: generateEcKeyPair().publicKey,
      algorithm: 'ECDSA',
    })
    const certificate = new X509Certificate(der)
    expect(certificate.issuer).toBe('CN=other')
    expect(certificate.verify(keys.publicKey)).toBe(true)
    expect(der.toString('hex')).not.toContain(extension.authorityKeyIdentifier)
  })
})
