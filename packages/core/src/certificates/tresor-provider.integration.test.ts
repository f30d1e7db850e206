import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import * as nodeFs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { MemoryCaStore, type CaStore } from './ca-store.js'
import { generateRoot } from './certificate-authority.js'
import type { LeafRequest } from './certificate-provider.js'
import { issueLeaf } from './issue-leaf.js'
import type { Clock } from './clock.js'
import { FileCaStore, type CaFileSystem } from './file-ca-store.js'
import type { KeySpec } from './key-pair.js'
import { AUTHORITIES, type LeafKind } from './kinds.js'
import { TresorProvider } from './tresor-provider.js'

const now = Date.parse('2026-11-21T10:00:00Z')
const YEAR = 365.25 * 24 * 3_600_000
const ecdsa: KeySpec = { algorithm: 'ECDSA' }
const { signal } = new AbortController()

function clockAt(time: number): Clock {
  return { now: () => time, setTimer: () => () => undefined }
}

function open(store: CaStore, time = now, rootKey = ecdsa): Promise<TresorProvider> {
  return TresorProvider.open({ store, clock: clockAt(time), rootKey })
}

function request<K extends LeafKind>(kind: K, key: KeySpec = ecdsa): LeafRequest<K> {
  const commonName = 'name.namespace.cluster.local'
  return { kind, commonName, dnsNames: [commonName], uris: [], ipAddresses: [], validityMs: 3_600_000, key }
}

function rootsOf(provider: TresorProvider): readonly string[] {
  return AUTHORITIES.flatMap((authority) => provider.trustBundle(authority))
}

let folder: string

beforeEach(async () => {
  folder = await nodeFs.mkdtemp(join(tmpdir(), 'osm-ca-'))
})

afterEach(async () => {
  await nodeFs.rm(folder, { recursive: true })
})

describe('the built-in CA', () => {
  it('opens one authority alone, and never looks at the other', async () => {
    const store = new MemoryCaStore()
    const provider = await TresorProvider.open({
      store,
      clock: clockAt(now),
      rootKey: ecdsa,
      authorities: ['control-plane'],
    })
    await expect(issueLeaf(provider, request('proxy'), signal)).resolves.toMatchObject({ kind: 'proxy' })
    await expect(issueLeaf(provider, request('service'), signal)).rejects.toMatchObject({ code: 'OSM_CERT_ISSUE' })
    expect(() => provider.trustBundle('workload')).toThrow(/without its workload authority/)
    await expect(store.load('workload')).resolves.toBeUndefined()
  })

  it('has two independent roots, and signs each kind of leaf under its own', async () => {
    const provider = await open(new MemoryCaStore())
    const roots = AUTHORITIES.map((authority) => new X509Certificate(provider.rootCertificate(authority).chain))
    const [controlPlane, workload] = roots
    if (controlPlane === undefined || workload === undefined) throw new Error('a root is missing')
    expect(controlPlane.publicKey.equals(workload.publicKey)).toBe(false)
    expect(controlPlane.subject).not.toBe(workload.subject)
    for (const [kind, signer, other] of [
      ['proxy', controlPlane, workload],
      ['control-plane', controlPlane, workload],
      ['service', workload, controlPlane],
    ] as const) {
      const leaf = new X509Certificate((await issueLeaf(provider, request(kind), signal)).chain)
      expect([leaf.verify(signer.publicKey), leaf.verify(other.publicKey)]).toEqual([true, false])
      expect([leaf.checkIssued(signer), leaf.checkIssued(other)]).toEqual([true, false])
    }
  })

  it('lets other work in between the certificates of a storm', async () => {
    const provider = await open(new MemoryCaStore())
    let issued = 0
    const storm = Promise.all(
      Array.from({ length: 200 }, () => issueLeaf(provider, request('service'), signal).then(() => (issued += 1))),
    )
    const seen: number[] = []
    while (issued < 200) {
      await new Promise((resolve) => setImmediate(resolve))
      seen.push(issued)
    }
    await storm
    expect(seen.length).toBeGreaterThanOrEqual(200)
  })

  it('issues RSA keys of the configured size, also under its own root kind', async () => {
    const provider = await open(new MemoryCaStore(), now, { algorithm: 'RSA', bits: 2048 })
    const leaves = await Promise.all(
      [2048, 2048, 2560].map((bits) => issueLeaf(provider, request('service', { algorithm: 'RSA', bits }), signal)),
    )
    const sizes = leaves.map((leaf) => createPrivateKey(leaf.privateKey()).asymmetricKeyDetails?.modulusLength)
    expect(sizes).toEqual([2048, 2048, 2560])
    expect(new Set(leaves.map((leaf) => leaf.privateKey())).size).toBe(3)
    provider.close()
    await expect(
      issueLeaf(provider, request('service', { algorithm: 'RSA', bits: 2048 }), signal),
    ).rejects.toMatchObject({
      code: 'OSM_CERT_CLOSED',
    })
    await expect(issueLeaf(provider, request('service'), signal)).rejects.toMatchObject({ code: 'OSM_CERT_CLOSED' })
  })

  it('does not issue for a caller that has given up', async () => {
    const provider = await open(new MemoryCaStore())
    const reason = new Error('gave up')
    await expect(issueLeaf(provider, request('service'), AbortSignal.abort(reason))).rejects.toBe(reason)
    const controller = new AbortController()
    const issue = issueLeaf(provider, request('service'), controller.signal)
    controller.abort(reason)
    await expect(issue).rejects.toBe(reason)
  })

  it('refuses one root for both', async () => {
    const store = new MemoryCaStore()
    const { certificate, privateKey } = await generateRoot('workload', ecdsa, now)
    for (const authority of AUTHORITIES) await store.create(authority, certificate, privateKey)
    await expect(open(store)).rejects.toMatchObject({ code: 'OSM_CERT_CA_SHARED' })
  })
})

describe('roots in a folder', () => {
  const paths = (authority: string) => ({
    folder: join(folder, 'ca', authority),
    certificate: join(folder, 'ca', authority, 'ca.crt'),
    privateKey: join(folder, 'ca', authority, 'ca.key'),
  })
  const store = (fs?: CaFileSystem) => new FileCaStore(join(folder, 'ca'), fs)

  it('are accessible to their owner only', async () => {
    await open(store())
    const mode = async (path: string) => (await nodeFs.stat(path)).mode & 0o777
    expect(await mode(join(folder, 'ca'))).toBe(0o700)
    for (const authority of AUTHORITIES) {
      expect(await mode(paths(authority).folder)).toBe(0o700)
      expect(await mode(paths(authority).privateKey)).toBe(0o600)
    }
    expect((await nodeFs.readdir(join(folder, 'ca'))).sort()).toEqual(['control-plane', 'workload'])
  })

  it('are the same after a restart', async () => {
    const first = await open(store())
    const leaf = await issueLeaf(first, request('service'), signal)
    const second = await open(store(), now + YEAR, { algorithm: 'RSA', bits: 2048 })
    expect(rootsOf(second)).toEqual(rootsOf(first))
    const root = new X509Certificate(second.rootCertificate('workload').chain)
    expect(new X509Certificate(leaf.chain).verify(root.publicKey)).toBe(true)
    const later = new X509Certificate((await issueLeaf(second, request('service'), signal)).chain)
    expect(later.checkIssued(root) && later.verify(root.publicKey)).toBe(true)
  })

  it('are the same for all that start at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const shared = join(folder, `round-${round}`)
      const providers = await Promise.all(Array.from({ length: 12 }, () => open(new FileCaStore(shared))))
      expect(new Set(providers.flatMap(rootsOf)).size).toBe(2)
      expect((await nodeFs.readdir(shared)).sort()).toEqual(['control-plane', 'workload'])
    }
  })

  it('that appear while they are looked for are found', async () => {
    const readFile = async (path: string): Promise<string> => {
      const content = await nodeFs.readFile(path, 'utf8').catch((error: unknown) => error as Error)
      const { certificate, privateKey } = await generateRoot('workload', ecdsa, now)
      if (typeof content !== 'string') await store().create('workload', certificate, privateKey)
      if (typeof content !== 'string') throw content
      return content
    }
    // The store reads text files by path only.
    const found = await store({ ...nodeFs, readFile: readFile as CaFileSystem['readFile'] }).load('workload')
    expect(found?.certificate).toBe(await nodeFs.readFile(paths('workload').certificate, 'utf8'))
  })

  it('written by anyone who is first stay, and the other gets them', async () => {
    const theirs = await generateRoot('workload', ecdsa, now)
    const ours = await generateRoot('workload', ecdsa, now)
    await store().create('workload', theirs.certificate, theirs.privateKey)
    const stored = await store().create('workload', ours.certificate, ours.privateKey)
    expect([stored.certificate, stored.privateKey()]).toEqual([theirs.certificate, theirs.privateKey])
  })

  it.each([
    ['an empty certificate', 'certificate', ''],
    ['half a certificate', 'certificate', '-----BEGIN CERTIFICATE-----\nMIIB'],
    ['an empty key', 'privateKey', ''],
    ['half a key', 'privateKey', '-----BEGIN PRIVATE KEY-----\nMIGH'],
    ['the key of another root', 'privateKey', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
  ] as const)('with %s are an error that names the file, and stay as they are', async (_, file, content) => {
    await open(store())
    const path = paths('workload')[file]
    const text =
      typeof content === 'string' ? content : content.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    await nodeFs.writeFile(path, text)
    await expect(open(store())).rejects.toMatchObject({
      code: 'OSM_CERT_STORE_CORRUPT',
      message: expect.stringContaining(path),
    })
    expect(await nodeFs.readFile(path, 'utf8')).toBe(text)
  })

  it.each(['certificate', 'privateKey'] as const)('without their %s are an error that names it', async (file) => {
    await open(store())
    const path = paths('control-plane')[file]
    await nodeFs.rm(path)
    await expect(open(store())).rejects.toMatchObject({
      code: 'OSM_CERT_STORE_CORRUPT',
      message: expect.stringContaining(path),
    })
    await expect(nodeFs.stat(path)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('that have expired, or are not valid yet, are an error', async () => {
    await open(store())
    await expect(open(store(), now + 11 * YEAR)).rejects.toMatchObject({
      code: 'OSM_CERT_CA_EXPIRED',
      message: expect.stringContaining(paths('control-plane').certificate),
    })
    await expect(open(store(), now - YEAR)).rejects.toMatchObject({ code: 'OSM_CERT_CA_EXPIRED' })
  })

  it('that are not a CA are an error', async () => {
    const provider = await open(store())
    const leaf = await issueLeaf(provider, request('service'), signal)
    await nodeFs.writeFile(paths('workload').certificate, leaf.chain)
    await nodeFs.writeFile(paths('workload').privateKey, leaf.privateKey())
    await expect(open(store())).rejects.toMatchObject({
      code: 'OSM_CERT_CA_INVALID',
      message: expect.stringContaining(paths('workload').certificate),
    })
  })

  it.each(['folder', 'privateKey'] as const)('whose %s others may access are an error', async (file) => {
    await open(store())
    const path = paths('workload')[file]
    await nodeFs.chmod(path, 0o744)
    await expect(open(store())).rejects.toMatchObject({
      code: 'OSM_CERT_STORE_PERMISSIONS',
      message: expect.stringContaining(path),
    })
  })

  it('are not written where others have access', async () => {
    await nodeFs.mkdir(join(folder, 'ca'), { mode: 0o755 })
    await nodeFs.chmod(join(folder, 'ca'), 0o755) // whatever the umask
    await expect(open(store())).rejects.toMatchObject({ code: 'OSM_CERT_STORE_PERMISSIONS' })
    expect(await nodeFs.readdir(join(folder, 'ca'))).toEqual([])
  })

  it('are stored as a whole or not at all when space runs out, and come with the next try', async () => {
    for (const call of ['mkdir', 'mkdtemp', 'open', 'write', 'sync'] as const) {
      for (const code of ['ENOSPC', 'EDQUOT']) {
        await expect(open(store(fullDisk(call, code)))).rejects.toMatchObject({
          code: 'OSM_CERT_STORE_FULL',
          message: expect.stringContaining(paths('control-plane').folder),
        })
        const left = call === 'mkdir' ? [] : await nodeFs.readdir(join(folder, 'ca'))
        expect(left).toEqual([])
        await nodeFs.rm(join(folder, 'ca'), { recursive: true, force: true })
      }
    }
    expect(rootsOf(await open(store()))).toHaveLength(2)
  })

  it('that cannot be written or read for another reason are an error with that reason', async () => {
    await nodeFs.writeFile(join(folder, 'ca'), 'a file where a folder should be')
    await expect(open(store())).rejects.toMatchObject({
      code: 'OSM_CERT_STORE_IO',
      message: expect.stringContaining('ENOTDIR'),
    })
    const fs: CaFileSystem = { ...nodeFs, rename: () => Promise.reject(systemError('EROFS')) }
    await expect(open(new FileCaStore(join(folder, 'other'), fs))).rejects.toMatchObject({
      code: 'OSM_CERT_STORE_IO',
      message: expect.stringContaining('EROFS'),
    })
    expect(await nodeFs.readdir(join(folder, 'other'))).toEqual([])
  })

  it('show their keys in no error, text or inspection', async () => {
    await open(store())
    const stored = await store().load('workload')
    if (stored === undefined) throw new Error('no root was stored')
    const key = await nodeFs.readFile(paths('workload').privateKey, 'utf8')
    const secret = key.split('\n')[1] ?? ''
    expect(stored.privateKey()).toContain(secret)
    await nodeFs.writeFile(paths('workload').certificate, (await generateRoot('workload', ecdsa, now)).certificate)
    const mismatch: unknown = await open(store()).catch((error: unknown) => error)
    await nodeFs.writeFile(paths('workload').privateKey, key.replace('MI', 'MJ'))
    const garbled: unknown = await open(store()).catch((error: unknown) => error)
    for (const shown of [stored, mismatch, garbled]) {
      expect(shown).toBeInstanceOf(Object)
      const text = `${inspect(shown, { depth: 9, showHidden: true })}${JSON.stringify(shown)}${String(shown)}`
      expect(text).not.toContain(secret)
      expect(text).not.toContain('PRIVATE')
    }
  })
})

/** The real file system, until one kind of call finds the disk full. */
function fullDisk(call: 'mkdir' | 'mkdtemp' | 'open' | 'write' | 'sync', code: string): CaFileSystem {
  const full = () => Promise.reject(systemError(code))
  const open: CaFileSystem['open'] = async (path, flags, mode) => {
    if (call === 'open' && flags === 'wx') return full()
    const file = await nodeFs.open(path, flags, mode)
    if (call === 'sync') file.sync = full
    if (call === 'write')
      file.writeFile = async (content) => {
        await file.write(String(content).slice(0, 10))
        return full()
      }
    return file
  }
  if (call === 'mkdir') return { ...nodeFs, mkdir: full }
  if (call === 'mkdtemp') return { ...nodeFs, mkdtemp: full }
  return { ...nodeFs, open }
}

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: no such luck`), { code })
}
