import { X509Certificate } from 'node:crypto'

import { beforeEach, describe, expect, it } from '@jest/globals'

import { FakeClock } from '../../test/certificates/fake-clock.js'
import { CaMaterial, MemoryCaStore } from './ca-store.js'
import { generateRoot } from './certificate-authority.js'
import type { KeySpec } from './key-pair.js'
import type { Authority } from './kinds.js'
import { issueLeaf } from './issue-leaf.js'
import { TresorProvider } from './tresor-provider.js'

const key: KeySpec = { algorithm: 'ECDSA' }
const HOUR = 3_600_000
const names = { commonName: 'name', dnsNames: ['name'], uris: [], ipAddresses: [] }
const { signal } = new AbortController()

let clock: FakeClock
let provider: TresorProvider
let before: CaMaterial
let after: CaMaterial
let workloadRoot: CaMaterial
let many: readonly CaMaterial[]
let told: Authority[]

function material(certificate: string, privateKey: string): CaMaterial {
  return new CaMaterial(certificate, privateKey, { certificate: 'here', privateKey: 'there' })
}

async function newRoot(): Promise<CaMaterial> {
  const { certificate, privateKey } = await generateRoot('control-plane', key, clock.now())
  return material(new X509Certificate(certificate).toString(), privateKey)
}

function textOf(roots: readonly CaMaterial[]): string {
  return roots.map(({ certificate }) => certificate).join('')
}

/** The certificate of a server, and whether a root has signed it. */
async function issuedBy(root: CaMaterial): Promise<boolean> {
  const certificate = await issueLeaf(provider, { kind: 'control-plane', ...names, validityMs: HOUR, key }, signal)
  return new X509Certificate(certificate.chain).verify(new X509Certificate(root.certificate).publicKey)
}

beforeEach(async () => {
  clock = new FakeClock()
  const store = new MemoryCaStore()
  ;[before, after] = [await newRoot(), await newRoot()]
  await store.create('control-plane', before.certificate, before.privateKey())
  provider = await TresorProvider.open({ store, clock, rootKey: key })
  told = []
  provider.onRootChange((authority) => told.push(authority))
})

describe('a replaced root', () => {
  it('signs at once, and the previous root is trusted for a day', async () => {
    expect(provider.take('control-plane', after)).toBe(true)
    expect(told).toEqual(['control-plane'])
    expect(await issuedBy(after)).toBe(true)
    expect(provider.rootCertificate('control-plane').chain).toBe(after.certificate)
    expect(provider.trustBundle('control-plane')).toEqual([after.certificate, before.certificate])
    expect(provider.trustBundle('workload')).toHaveLength(1)
    await clock.pass(24 * HOUR - 1)
    expect(provider.trustBundle('control-plane')).toHaveLength(2)
    await clock.pass(1)
    expect(provider.trustBundle('control-plane')).toEqual([after.certificate])
    expect(told).toEqual(['control-plane', 'control-plane'])
  })

  it('is reported only once', () => {
    expect(provider.take('control-plane', before)).toBe(false)
    provider.take('control-plane', after)
    expect(provider.take('control-plane', after)).toBe(false)
    expect(told).toHaveLength(1)
  })

  it('can be trusted first, sign then, and leave the other trusted for as long as it takes', async () => {
    provider.take('control-plane', material(before.certificate + after.certificate, before.privateKey()))
    expect(provider.trustBundle('control-plane')).toEqual([before.certificate, after.certificate])
    expect(await issuedBy(before)).toBe(true)
    await clock.pass(48 * HOUR)
    provider.take('control-plane', material(after.certificate + before.certificate, after.privateKey()))
    expect(await issuedBy(after)).toBe(true)
    await clock.pass(48 * HOUR)
    expect(provider.trustBundle('control-plane')).toEqual([after.certificate, before.certificate])
    // A program that starts meanwhile trusts both as well.
    const store = new MemoryCaStore()
    await store.create('control-plane', after.certificate + before.certificate, after.privateKey())
    const other = await TresorProvider.open({ store, clock, rootKey: key })
    expect(other.trustBundle('control-plane')).toEqual(provider.trustBundle('control-plane'))
  })

  it.each([
    ['of another key', () => material(after.certificate, before.privateKey()), 'OSM_CERT_STORE_CORRUPT'],
    ['that is not a certificate', () => material('x', after.privateKey()), 'OSM_CERT_STORE_CORRUPT'],
    ['of the workloads', () => workloadRoot, 'OSM_CERT_CA_SHARED'],
    [
      'beside one of the workloads',
      () => material(after.certificate + workloadRoot.certificate, after.privateKey()),
      'OSM_CERT_CA_SHARED',
    ],
    ['among seventeen', () => material(textOf(many), after.privateKey()), 'OSM_CERT_ROOTS_BOUND'],
  ])('%s is refused, and everything stays', async (_, unusable, code) => {
    workloadRoot = await newRoot()
    provider.take('workload', workloadRoot)
    many = [after, ...(await Promise.all(Array.from({ length: 16 }, newRoot)))]
    told.length = 0
    expect(() => provider.take('control-plane', unusable())).toThrow(expect.objectContaining({ code }))
    expect(told).toEqual([])
    expect(provider.trustBundle('control-plane')).toEqual([before.certificate])
    expect(await issuedBy(before)).toBe(true)
  })

  it('refuses what is not a CA beside the root that signs', async () => {
    const leaf = await issueLeaf(provider, { kind: 'control-plane', ...names, validityMs: HOUR, key }, signal)
    const mixed = material(after.certificate + leaf.chain, after.privateKey())
    expect(() => provider.take('control-plane', mixed)).toThrow('not the certificate of a CA')
  })

  it('may be one of sixteen that are trusted, with copies and other text between them', async () => {
    const roots = [after, ...(await Promise.all(Array.from({ length: 15 }, newRoot)))]
    const text = `${after.privateKey()}subject=CN = one\n${textOf(roots)}${textOf(roots).replaceAll('\n', '\r\n')}`
    provider.take('control-plane', material(text, after.privateKey()))
    expect(provider.trustBundle('control-plane')).toEqual([...roots, before].map(({ certificate }) => certificate))
  })

  it('may not join two authorities when they are opened', async () => {
    const store = new MemoryCaStore()
    await store.create('control-plane', before.certificate + after.certificate, before.privateKey())
    await store.create('workload', after.certificate, after.privateKey())
    const opened = TresorProvider.open({ store, clock, rootKey: key })
    await expect(opened).rejects.toMatchObject({ code: 'OSM_CERT_CA_SHARED' })
  })

  it('leaves no timer behind', () => {
    provider.take('control-plane', after)
    provider.close()
    expect(clock.pending).toBe(0)
    expect(provider.take('control-plane', before)).toBe(false)
  })
})
