import { generateKeyPairSync, X509Certificate, type KeyObject } from 'node:crypto'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { recordingLogger } from '../../test/certificates/local-authority.js'
import { domains, service } from '../../test/certificates/manager-fixture.js'
import { certificateWithKey } from '../../test/certificates/proxy-certificate.js'
import { MemoryCaStore } from './ca-store.js'
import { certificateRef } from './certificate-subject.js'
import type { SigningRequest } from './certificate-provider.js'
import { defaultCertificateSettings } from './certificate-settings.js'
import { systemClock } from './clock.js'
import { issuanceLog } from './issuance-log.js'
import type { KeyHolder } from './key-holder.js'
import type { Authority } from './kinds.js'
import { MeshCertificateManager } from './mesh-certificate-manager.js'
import { TresorProvider } from './tresor-provider.js'

async function holderOf(publicKey: KeyObject, id = 'session-1'): Promise<KeyHolder> {
  return { id, commonName: 'uuid.sidecar.a.default.cluster.local', certificate: await certificateWithKey(publicKey) }
}

describe('certificates for keys that are elsewhere', () => {
  const closing = new AbortController()
  const lines: string[] = []
  let provider: TresorProvider
  let manager: MeshCertificateManager

  beforeAll(async () => {
    const rootKey = { algorithm: 'ECDSA' } as const
    provider = await TresorProvider.open({ store: new MemoryCaStore(), clock: systemClock, rootKey })
    manager = new MeshCertificateManager({
      provider,
      domains,
      settings: () => defaultCertificateSettings,
      issuanceLog: issuanceLog(recordingLogger(lines)),
      clock: systemClock,
      random: Math.random,
      signal: closing.signal,
    })
  })
  afterAll(() => {
    closing.abort()
    provider.close()
  })

  it.each([
    ['P-256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['P-384', generateKeyPairSync('ec', { namedCurve: 'P-384' })],
    ['RSA of 2048 bits', generateKeyPairSync('rsa', { modulusLength: 2048 })],
  ])('are signed for %s, with the names of the identity and no others', async (id, { publicKey }) => {
    const holder = await holderOf(publicKey, id)
    const certificate = await manager.issueCertificate({ ...service('a', 'x'), holder })
    const leaf = new X509Certificate(certificate.chain)
    expect(leaf.publicKey.equals(publicKey)).toBe(true)
    // Nothing of the certificate that the key came in is taken over: no name, and no right to sign.
    expect(leaf.ca).toBe(false)
    expect(leaf.subject).toBe('CN=a.default.cluster.local')
    expect(leaf.subjectAltName?.split(', ').sort()).toEqual([
      'DNS:a.default.cluster.local',
      'DNS:x.default.svc.cluster.local',
      'URI:spiffe://cluster.local/a/default',
    ])
    expect(() => certificate.privateKey()).toThrow(expect.objectContaining({ code: 'OSM_CERT_NO_KEY' }))
    expect(certificate.credentialWithoutKey()).toMatchObject({ chain: certificate.chain, key: 'proxy', privateKey: '' })
    expect(lines.at(-1)).toMatch(/^info certificate issued .*"keyHolder":"proxy","proxy":"uuid.sidecar.a.default/)
    expect(lines.at(-1)).toContain(`"serialNumber":"${certificate.serialNumber}"`)
  })

  it.each([
    ['RSA of 1024 bits', generateKeyPairSync('rsa', { modulusLength: 1024 })],
    ['ec secp256k1', generateKeyPairSync('ec', { namedCurve: 'secp256k1' })],
    ['ec secp521r1', generateKeyPairSync('ec', { namedCurve: 'P-521' })],
    ['ed25519', generateKeyPairSync('ed25519')],
  ])('are refused for %s, with a line in the audit log', async (found, { publicKey }) => {
    const issuing = manager.issueCertificate({ ...service('a'), holder: await holderOf(publicKey, found) })
    await expect(issuing).rejects.toMatchObject({ code: 'OSM_PROXY_KEY', message: expect.stringContaining(found) })
    expect(lines.at(-1)).toMatch(/^warn certificate refused .*"proxy":"uuid.sidecar.a.default.*"code":"OSM_PROXY_KEY"/)
  })

  it('are kept for each holder, beside the one that proxies share', async () => {
    const [one, other] = await Promise.all(
      ['one', 'other'].map(async (id) => {
        const holder = await holderOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey, id)
        const subject = { ...service('b'), holder }
        return { subject, certificate: await manager.issueCertificate(subject) }
      }),
    )
    const shared = await manager.issueCertificate(service('b'))
    const held = (subject: ReturnType<typeof service>) =>
      manager.getCertificate(certificateRef<'service'>(subject, domains))
    expect(held(service('b'))?.serialNumber).toBe(shared.serialNumber)
    expect(held(one?.subject ?? service('?'))?.serialNumber).toBe(one?.certificate.serialNumber)
    manager.releaseCertificate(certificateRef<'service'>(one?.subject ?? service('?'), domains))
    expect(held(one?.subject ?? service('?'))).toBeUndefined()
    expect(held(other?.subject ?? service('?'))?.serialNumber).toBe(other?.certificate.serialNumber)
    // Renewed for the same key.
    const renewed = await manager.rotateCertificate(certificateRef<'service'>(other?.subject ?? service('?'), domains))
    expect(renewed.serialNumber).not.toBe(other?.certificate.serialNumber)
    const keys = [renewed, other?.certificate].map((each) => new X509Certificate(each?.chain ?? '').publicKey)
    expect(keys[0]?.equals(keys[1] as KeyObject)).toBe(true)
  })

  it('are refused by a provider that wants a request signed by the key, with a line in the audit log', async () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const remote = {
      name: 'remote',
      signsPublicKeys: false,
      rootCertificate: (authority: Authority) => provider.rootCertificate(authority),
      trustBundle: (authority: Authority) => provider.trustBundle(authority),
      onRootChange: () => () => undefined,
      faults: () => [],
      // As Vault and cert-manager do: what they are sent is the request.
      sign: async (request: SigningRequest, signal: AbortSignal) => {
        request.csr()
        return provider.sign(request, signal)
      },
    }
    const other = new MeshCertificateManager({
      provider: remote,
      domains,
      settings: () => defaultCertificateSettings,
      issuanceLog: issuanceLog(recordingLogger(lines)),
      clock: systemClock,
      random: Math.random,
      signal: closing.signal,
    })
    const issuing = other.issueCertificate({ ...service('c'), holder: await holderOf(publicKey) })
    await expect(issuing).rejects.toMatchObject({
      code: 'OSM_CERT_KEY_PROOF',
      message: expect.stringMatching(/^provider remote wants a request for c\.default\S* that the key has signed/),
    })
    expect(lines.at(-1)).toMatch(/^warn certificate refused .*"keyHolder":"proxy".*"code":"OSM_CERT_KEY_PROOF"/)
    // A certificate with a key of the control plane is issued all the same.
    expect((await other.issueCertificate(service('c'))).privateKey()).toContain('PRIVATE KEY')
  })
})
