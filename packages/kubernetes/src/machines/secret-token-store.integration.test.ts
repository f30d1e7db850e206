import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { MAX_TOKENS, newProxyUUID, redeemToken, type StoredToken } from '@osm-ts/core'

import { FakeApiServer } from '../../test/fake-api-server.js'
import { resourceTypes } from '../resource-types.js'
import { SecretTokenStore } from './secret-token-store.js'

const namespace = 'osm-system'
const { signal } = new AbortController()

describe('tokens as Secrets', () => {
  let server: FakeApiServer
  let store: SecretTokenStore
  let time: number

  const token = (id: string, expiresAt = 2_000): StoredToken => ({
    namespace: 'shop',
    serviceAccount: 'store',
    labels: { app: 'store' },
    id,
    hash: '00'.repeat(32),
    expiresAt,
  })
  const id = (n: number): string => n.toString(16).padStart(16, '0')

  beforeEach(async () => {
    time = 1_000
    server = await FakeApiServer.start()
    store = new SecretTokenStore({ api: await server.api(), meshName: 'osm', namespace, now: () => time, signal })
  })
  afterEach(() => server.close())

  it('are read as they were stored, with who has used them', async () => {
    await store.add(token(id(1)))
    await expect(store.read(id(1))).resolves.toEqual(token(id(1)))
    const use = { key: 'a', uuid: newProxyUUID() }
    await expect(store.use(token(id(1)), use)).resolves.toEqual(use)
    await expect(store.read(id(1))).resolves.toEqual({ ...token(id(1)), use })
    await expect(store.use(token(id(1)), { key: 'b', uuid: newProxyUUID() })).resolves.toEqual(use)
  })

  it('record one use of many at one time', async () => {
    await store.add(token(id(1)))
    const uses = Array.from({ length: 8 }, (_, n) => ({ key: `key-${n}`, uuid: newProxyUUID() }))
    const recorded = await Promise.all(uses.map((use) => store.use(token(id(1)), use)))
    expect(new Set(recorded.map((use) => use?.key)).size).toBe(1)
  })

  it('are removed when they have expired, and bounded in number', async () => {
    await store.add(token(id(1)))
    time = 2_000
    await store.add(token(id(2), 3_000))
    await expect(store.read(id(1))).resolves.toBeUndefined()
    const [stored] = server.objects.list(resourceTypes.Secret)
    for (let n = 3; n < MAX_TOKENS + 2; n += 1)
      server.put(resourceTypes.Secret, { ...stored?.metadata, namespace, name: `osm-join-token-osm-${id(n)}` })
    await expect(store.add(token(id(0), 3_000))).rejects.toMatchObject({ code: 'OSM_MACHINE_TOKENS' })
  })

  it('are unknown where there is none, whatever the id looks like', async () => {
    await expect(store.read('../secret')).resolves.toBeUndefined()
    await expect(redeemToken(store, { id: id(9), secret: 'x' }, { key: 'a', now: 0 })).rejects.toMatchObject({
      code: 'OSM_MACHINE_TOKEN',
    })
    await expect(store.use(token(id(9)), { key: 'a', uuid: newProxyUUID() })).resolves.toBeUndefined()
  })

  it('say that they cannot be read', async () => {
    server.token = 'another'
    await expect(store.read(id(1))).rejects.toMatchObject({ code: 'OSM_MACHINE_TOKEN_STORE' })
  })
})
