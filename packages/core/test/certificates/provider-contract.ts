import { createPublicKey, X509Certificate } from 'node:crypto'
import { inspect } from 'node:util'

import { expect, it } from '@jest/globals'

import type { CertificateProvider } from '../../src/certificates/certificate-provider.js'
import { certificateNames } from '../../src/certificates/certificate-subject.js'
import { issueLeaf, signingRequest } from '../../src/certificates/issue-leaf.js'
import { generateKeyPairFor, type KeySpec } from '../../src/certificates/key-pair.js'
import { domains, HOUR, service } from './tresor-fixture.js'

const { signal } = new AbortController()
const keys: readonly KeySpec[] = [{ algorithm: 'ECDSA' }, { algorithm: 'RSA', bits: 2048 }]

/**
 * Tests that every provider of workload certificates must pass.
 *
 * @param open - a provider that signs; asked once for each test
 * @param now - the time of its authority
 */
export function providerContract(open: () => Promise<CertificateProvider>, now: () => number): void {
  const names = certificateNames(service, domains)

  it.each(keys)('signs a key of $algorithm with the names of the request and no others', async (key) => {
    const provider = await open()
    const pair = await generateKeyPairFor(key)
    const signed = await provider.sign(signingRequest({ ...names, validityMs: HOUR }, pair), signal)
    const leaf = new X509Certificate(signed.chain)
    const own = createPublicKey({ key: pair.publicKey, format: 'der', type: 'spki' })
    expect(leaf.publicKey.equals(own)).toBe(true)
    expect(leaf.subjectAltName?.split(', ').sort()).toEqual(
      [...names.dnsNames.map((name) => `DNS:${name}`), ...names.uris.map((uri) => `URI:${uri}`)].sort(),
    )
    expect(leaf.ca).toBe(false)
    expect(signed.serialNumber).toBe(leaf.serialNumber)
    expect(Math.abs(signed.expiration - now() - HOUR)).toBeLessThan(2 * 60_000)
  })

  it('returns a chain that leads to its root, and a bundle that has the root', async () => {
    const provider = await open()
    const certificate = await issueLeaf(provider, { ...names, validityMs: HOUR, key: { algorithm: 'ECDSA' } }, signal)
    const root = provider.rootCertificate('workload')
    expect(provider.trustBundle('workload')[0]).toBe(root.chain)
    expect(certificate.issuingCA.chain).toBe(root.chain)
    expect(certificate.chain).not.toContain(root.chain)
    const last = new X509Certificate(certificate.chain.slice(certificate.chain.lastIndexOf('-----BEGIN')))
    expect(last.verify(new X509Certificate(root.chain).publicKey)).toBe(true)
  })

  it('gives no private key away', async () => {
    const provider = await open()
    const pair = await generateKeyPairFor({ algorithm: 'ECDSA' })
    const request = signingRequest({ ...names, validityMs: HOUR }, pair)
    const signed = await provider.sign(request, signal)
    expect(inspect({ request, signed, provider }, { depth: 20 }) + request.csr()).not.toContain('PRIVATE KEY')
  })

  it('does not sign for a caller that has given up', async () => {
    const provider = await open()
    const request = { ...names, validityMs: HOUR, key: { algorithm: 'ECDSA' } } as const
    await expect(issueLeaf(provider, request, AbortSignal.abort(new Error('gave up')))).rejects.toThrow('gave up')
  })

  it('has no faults while it signs', async () => {
    const provider = await open()
    await issueLeaf(provider, { ...names, validityMs: HOUR, key: { algorithm: 'ECDSA' } }, signal)
    expect(provider.faults()).toEqual([])
  })
}
