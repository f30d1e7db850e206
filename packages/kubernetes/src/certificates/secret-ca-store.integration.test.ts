import { inspect } from 'node:util'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { FakeApiServer } from '../../test/fake-api-server.js'
import { resourceTypes } from '../resource-types.js'
import { SecretCaStore, type SecretCaStoreOptions } from './secret-ca-store.js'

const { Secret } = resourceTypes
const workload = { namespace: 'osm-system', name: 'osm-ca-bundle' }
const controlPlane = { namespace: 'osm-system', name: 'osm-ca-bundle-control-plane' }
const labels = { 'openservicemesh.io/meshName': 'osm' }

let server: FakeApiServer
let store: SecretCaStore

beforeEach(async () => {
  server = await FakeApiServer.start()
  store = await open()
})

afterEach(() => server.close())

describe('a store of roots in Secrets', () => {
  it('has nothing at first', async () => {
    expect(await store.load('workload')).toBeUndefined()
    expect(await store.load('control-plane')).toBeUndefined()
  })

  it('keeps both roots under the names and keys that OSM has', async () => {
    const created = await store.create('workload', 'certificate', 'private')
    expect([created.certificate, created.privateKey()]).toEqual(['certificate', 'private'])
    await store.create('control-plane', 'other certificate', 'other')
    expect(server.objects.get(Secret, workload)).toMatchObject({
      metadata: { labels },
      type: 'Opaque',
      immutable: true,
      data: { 'ca.crt': base64('certificate'), 'private.key': base64('private') },
    })
    expect(server.objects.get(Secret, controlPlane)?.data).toMatchObject({ 'private.key': base64('other') })
    expect((await (await open()).load('control-plane'))?.privateKey()).toBe('other')
  })

  it('reads the root of an OSM that was there before', async () => {
    server.put(Secret, workload, {
      data: { 'ca.crt': base64('old'), 'private.key': base64('old key'), expiration: 'x' },
    })
    const created = await store.create('workload', 'new', 'new key')
    expect([created.certificate, created.privateKey()]).toEqual(['old', 'old key'])
  })

  it('ends with one root when many start at once', async () => {
    const roots = Array.from({ length: 8 }, async (_, index) => {
      const other = await open()
      return other.create('workload', `certificate ${index}`, `key ${index}`)
    })
    const certificates = new Set((await Promise.all(roots)).map(({ certificate }) => certificate))
    expect(certificates.size).toBe(1)
  })

  it.each([
    ['no key at all', {}, 'has no key ca.crt'],
    ['a missing key', { 'ca.crt': base64('c') }, 'has no key private.key'],
    ['an empty certificate', { 'ca.crt': '', 'private.key': base64('k') }, 'has no key ca.crt'],
  ])('calls %s corrupt, never absent', async (_, data, message) => {
    server.put(Secret, workload, { data })
    const expected = { code: 'OSM_CERT_STORE_CORRUPT', message: expect.stringContaining(message) }
    await expect(store.load('workload')).rejects.toMatchObject(expected)
    await expect(store.create('workload', 'c', 'k')).rejects.toMatchObject(expected)
  })

  it('says what it may not read, and keeps keys out of it', async () => {
    const forbidden = { kind: 'status', status: 403, reason: 'Forbidden' } as const
    server.fault({ action: forbidden, times: 2 })
    await expect(store.load('workload')).rejects.toMatchObject({
      code: 'OSM_CERT_STORE_IO',
      message: expect.stringContaining('Secret osm-system/osm-ca-bundle cannot be read'),
      cause: { status: 403 },
    })
    const error: unknown = await store.create('workload', 'certificate', 'hush').catch((reason: unknown) => reason)
    expect(inspect(error, { depth: 20 })).not.toMatch(/hush|aHVzaA/)
    expect(inspect(await store.create('workload', 'certificate', 'hush'), { depth: 20 })).not.toContain('hush')
  })

  it('says so when the Secret vanishes while it is made', async () => {
    server.fault({
      when: ({ method }) => method === 'POST',
      action: { kind: 'status', status: 409, reason: 'AlreadyExists' },
    })
    await expect(store.create('workload', 'c', 'k')).rejects.toMatchObject({
      code: 'OSM_CERT_STORE_IO',
      message: expect.stringContaining('was deleted while'),
    })
  })

  it('requests nothing but what it is opened for', async () => {
    const narrow = await open({ authorities: ['control-plane'] })
    await expect(narrow.load('workload')).rejects.toMatchObject({ code: 'OSM_CERT_STORE_IO' })
    expect(await narrow.load('control-plane')).toBeUndefined()
    expect(server.requests.map(({ path }) => path)).toEqual([
      '/api/v1/namespaces/osm-system/secrets/osm-ca-bundle-control-plane',
    ])
  })

  it('ends with its signal', async () => {
    const stop = new AbortController()
    stop.abort(new Error('enough'))
    await expect((await open({ signal: stop.signal })).load('workload')).rejects.toThrow('enough')
  })
})

async function open(options: Partial<SecretCaStoreOptions> = {}): Promise<SecretCaStore> {
  const { signal } = new AbortController()
  const api = await server.api()
  return new SecretCaStore({ api, namespace: 'osm-system', secretName: 'osm-ca-bundle', labels, signal, ...options })
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
