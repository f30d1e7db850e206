import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { generateRoot } from '../certificates/index.js'
import { FolderTokenStore } from './folder-token-store.js'
import { newJoinToken, parseJoinToken, rootPin } from './join-token.js'
import { MAX_TOKENS, redeemToken } from './token-store.js'

const grant = { namespace: 'shop', serviceAccount: 'store', labels: { app: 'store' } }

describe('join tokens', () => {
  let folder: string
  let store: FolderTokenStore
  let now: number
  let root: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-tokens-'))
    now = 1_000_000
    store = new FolderTokenStore(join(folder, 'tokens'), () => now)
    root = (await generateRoot('control-plane', { algorithm: 'ECDSA' }, Date.now())).certificate
  })
  afterEach(() => rm(folder, { recursive: true }))

  async function token(ttlMs = 60_000) {
    const made = newJoinToken(grant, { root, expiresAt: now + ttlMs })
    await store.add(made.stored)
    return parseJoinToken(made.text)
  }
  const refusal = (code: string) => expect.objectContaining({ code })

  it('name the root of the control plane, and are stored without their secret', async () => {
    const { id, secret, pin } = await token()
    expect(pin).toBe(rootPin(root))
    const file = join(folder, 'tokens', `${id}.json`)
    const text = await readFile(file, 'utf8')
    expect(text).not.toContain(secret)
    expect((await stat(file)).mode & 0o077).toBe(0)
  })

  it('are used by one key, which may ask again', async () => {
    const made = await token()
    const first = await redeemToken(store, made, { key: 'a', now })
    expect(first).toMatchObject(grant)
    await expect(redeemToken(store, made, { key: 'a', now })).resolves.toEqual(first)
    await expect(redeemToken(store, made, { key: 'b', now })).rejects.toEqual(refusal('OSM_MACHINE_TOKEN_USED'))
  })

  it('are used once, even by many machines at one time', async () => {
    const made = await token()
    const keys = Array.from({ length: 20 }, (_, n) => `key-${n}`)
    const all = await Promise.allSettled(keys.map((key) => redeemToken(store, made, { key, now })))
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('expire, and are removed then', async () => {
    const made = await token(1_000)
    await redeemToken(store, made, { key: 'a', now })
    now += 1_000
    await expect(redeemToken(store, made, { key: 'a', now })).rejects.toEqual(refusal('OSM_MACHINE_TOKEN_EXPIRED'))
    const next = await token()
    await expect(readdir(join(folder, 'tokens'))).resolves.toEqual([`${next.id}.json`])
    await expect(redeemToken(store, made, { key: 'a', now })).rejects.toEqual(refusal('OSM_MACHINE_TOKEN'))
  })

  it('are unknown with another secret or id, whatever the id looks like', async () => {
    const made = await token()
    for (const other of [
      { ...made, secret: 'A'.repeat(43) },
      { ...made, id: '0'.repeat(16) },
      { ...made, id: '../../x' },
    ])
      await expect(redeemToken(store, other, { key: 'a', now })).rejects.toEqual(refusal('OSM_MACHINE_TOKEN'))
  })

  it('are bounded in number', async () => {
    const kept = await token(1)
    const stored = await store.read(kept.id)
    for (let n = 1; n < MAX_TOKENS; n += 1) {
      const id = n.toString(16).padStart(16, '0')
      await writeFile(join(folder, 'tokens', `${id}.json`), JSON.stringify({ ...stored, id }))
    }
    await expect(token()).rejects.toEqual(refusal('OSM_MACHINE_TOKENS'))
    now += 1
    await expect(token()).resolves.toBeDefined()
  })

  it.each(['', 'osm1', 'osm2.0123456789abcdef.x.y', `osm1.${'g'.repeat(16)}.${'a'.repeat(43)}.${'a'.repeat(43)}`])(
    'that are malformed, such as %j, are not repeated in the error',
    (text) => {
      expect(() => parseJoinToken(text)).toThrow(refusal('OSM_MACHINE_TOKEN'))
      if (text.length > 10) expect(() => parseJoinToken(text)).not.toThrow(text)
    },
  )
})
