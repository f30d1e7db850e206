import { inspect } from 'node:util'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '@osm-ts/driver-api/toolkit'

import { FakeApiServer } from '../../test/fake-api-server.js'
import { isWatch, type FaultAction } from '../../test/fake-faults.js'
import type { KubernetesApi, WatchEvent } from '../api.js'
import { openKubernetes } from '../connect.js'
import { KubernetesError } from '../kubernetes-error.js'
import { resourceTypes } from '../resource-types.js'

const { ConfigMap, Namespace, Secret } = resourceTypes
const a = { namespace: 'ns', name: 'a' }
const { signal } = new AbortController()

let server: FakeApiServer
let api: KubernetesApi

beforeEach(async () => {
  server = await FakeApiServer.start()
  api = await server.api()
})

afterEach(() => server.close())

describe('the REST API', () => {
  it('makes, reads, replaces, patches, applies and deletes objects', async () => {
    const created = await api.create(ConfigMap, configMap({ one: '1' }), { signal })
    expect(created).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', data: { one: '1' } })
    expect(await api.get(ConfigMap, a, signal)).toEqual(created)
    const { resourceVersion } = created.metadata
    const replaced = await api.replace(ConfigMap, configMap({ two: '2' }, { resourceVersion: resourceVersion! }), {
      signal,
    })
    expect(replaced.data).toEqual({ two: '2' })
    const patched = await api.mergePatch(ConfigMap, a, { data: { two: null, three: '3' } }, { signal })
    expect(patched.data).toEqual({ three: '3' })
    const applied = await api.apply(ConfigMap, configMap({ four: '4' }), { signal, fieldManager: 'me', force: false })
    expect(applied.data).toEqual({ three: '3', four: '4' })
    expect(await api.delete(ConfigMap, a, { signal })).toBe(true)
    expect(await api.delete(ConfigMap, a, { signal })).toBe(false)
    expect(await api.get(ConfigMap, a, signal)).toBeUndefined()
  })

  it('speaks of cluster-scoped objects, subresources and odd names by the right paths', async () => {
    await api.get(Namespace, { namespace: '', name: 'shop' }, signal)
    await api.get(ConfigMap, { namespace: 'ns', name: 'a/../b?c' }, signal)
    await api.read('/version', signal)
    await api.list(resourceTypes.Egress, { namespace: 'ns', labelSelector: 'a=b' }, signal)
    expect(server.requests.map(({ path }) => path)).toEqual([
      '/api/v1/namespaces/shop',
      '/api/v1/namespaces/ns/configmaps/a%2F..%2Fb%3Fc',
      '/version',
      '/apis/policy.openservicemesh.io/v1alpha1/namespaces/ns/egresses',
    ])
    expect(server.requests[0]?.userAgent).toBe('osm-test')
  })

  it('is sent nothing but metadata where that is requested', async () => {
    server.put(Secret, { ...a, uid: 'u', labels: { app: 'x' } }, { data: { key: 'c2VjcmV0' } })
    const { items } = await api.list(Secret, { namespace: 'ns', answer: 'metadata' }, signal)
    const got = await api.get(Secret, a, signal, { answer: 'metadata' })
    for (const object of [...items, got]) {
      expect(object).toMatchObject({ apiVersion: 'v1', kind: 'Secret', metadata: { uid: 'u', labels: { app: 'x' } } })
      expect(object).not.toHaveProperty('data')
    }
    const patch = { metadata: { labels: { app: 'y' } } }
    const patched = await api.mergePatch(Secret, a, patch, { signal, answer: 'metadata' })
    expect(patched).toMatchObject({ kind: 'Secret', metadata: { labels: { app: 'y' } } })
    expect(patched).not.toHaveProperty('data')
    expect((await api.get(Secret, a, signal))?.data).toEqual({ key: 'c2VjcmV0' })
  })

  it('stores nothing in a dry run', async () => {
    const options = { signal, dryRun: true }
    await api.create(ConfigMap, configMap({}), options)
    await api.apply(ConfigMap, configMap({}), { ...options, fieldManager: 'me', force: true })
    expect(server.objects.list(ConfigMap)).toEqual([])
    server.put(ConfigMap, a)
    await api.delete(ConfigMap, a, options)
    expect(server.objects.list(ConfigMap)).toHaveLength(1)
  })

  it('leaves what was written out of the answer where no one needs it', async () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: a, data: { key: 'aHVzaA==' } }
    for (const write of ['create', 'replace'] as const) {
      const answer = await api[write](Secret, secret, { signal, answer: 'metadata' })
      expect(answer).toMatchObject({ kind: 'Secret', metadata: a })
      expect(answer).not.toHaveProperty('data')
    }
    expect((await api.get(Secret, a, signal))?.data).toEqual(secret.data)
  })

  it('says what is in the way of a write', async () => {
    server.put(ConfigMap, a, { data: { one: '1' } })
    const stale = configMap({}, { resourceVersion: '1' })
    expect(await failure(api.create(ConfigMap, configMap({}), { signal }))).toMatchObject({
      conflict: true,
      status: 409,
      reason: 'AlreadyExists',
      message: 'create ConfigMap ns/a: 409 AlreadyExists: configmaps "a" already exists',
    })
    expect(await failure(api.replace(ConfigMap, stale, { signal }))).toMatchObject({ conflict: true })
    expect(await failure(api.mergePatch(ConfigMap, a, stale, { signal }))).toMatchObject({ conflict: true })
    expect(await failure(api.delete(ConfigMap, a, { signal, uid: 'another' }))).toMatchObject({ conflict: true })
    const missing = { namespace: 'ns', name: 'b' }
    expect(await failure(api.mergePatch(ConfigMap, missing, {}, { signal }))).toMatchObject({ notFound: true })
  })

  it('leaves fields to those who own them unless it is forced', async () => {
    const apply = (fieldManager: string, value: string, force: boolean): Promise<unknown> =>
      api.apply(ConfigMap, configMap({ key: value }), { signal, fieldManager, force })
    await apply('one', '1', false)
    await apply('other', '1', false)
    expect(await failure(apply('other', '2', false))).toMatchObject({ conflict: true })
    await apply('other', '2', true)
    expect(server.objects.get(ConfigMap, a)?.data).toEqual({ key: '2' })
  })

  it.each<[FaultAction, Partial<KubernetesError>]>([
    [
      { kind: 'status', status: 403, reason: 'Forbidden', message: 'no' },
      { code: 'OSM_KUBERNETES_FORBIDDEN', status: 403 },
    ],
    [
      { kind: 'status', status: 410, reason: 'Expired' },
      { code: 'OSM_KUBERNETES_EXPIRED', expired: true },
    ],
    [
      { kind: 'status', status: 422, reason: 'Invalid' },
      { code: 'OSM_KUBERNETES_INVALID', status: 422 },
    ],
    [
      { kind: 'status', status: 429, reason: 'TooManyRequests', retryAfter: 7 },
      { code: 'OSM_KUBERNETES_THROTTLED', retryAfterMs: 7_000 },
    ],
    [
      { kind: 'status', status: 503, reason: 'ServiceUnavailable' },
      { code: 'OSM_KUBERNETES_FAILED', status: 503 },
    ],
    [{ kind: 'cut-body' }, { code: 'OSM_KUBERNETES_UNREACHABLE' }],
    [{ kind: 'garbage', text: 'null' }, { code: 'OSM_KUBERNETES_RESPONSE' }],
    [{ kind: 'garbage', text: '{"items":' }, { code: 'OSM_KUBERNETES_RESPONSE' }],
    [{ kind: 'garbage', text: '{"items":[]}' }, { code: 'OSM_KUBERNETES_RESPONSE' }],
    [
      { kind: 'garbage', text: `"${'x'.repeat(33 * 1024 * 1024)}"` },
      { code: 'OSM_KUBERNETES_RESPONSE', reason: 'ResponseTooLarge' },
    ],
  ])('tells what came instead of a list (%#)', async (action, expected) => {
    server.fault({ action, times: 2 })
    expect(await failure(api.list(ConfigMap, {}, signal))).toMatchObject(expected)
  })

  it('reads again when the connection was cut, but never writes again', async () => {
    server.fault({ action: { kind: 'cut' } })
    expect((await api.list(ConfigMap, {}, signal)).items).toEqual([])
    server.fault({ action: { kind: 'cut' } })
    expect(await failure(api.create(ConfigMap, configMap({}), { signal }))).toMatchObject({
      code: 'OSM_KUBERNETES_UNREACHABLE',
      status: undefined,
    })
    expect(server.requests.filter(({ method }) => method === 'POST')).toHaveLength(1)
  })

  it('says where no one answers', async () => {
    await server.close()
    const error = await failure(api.get(ConfigMap, a, signal))
    expect(error).toMatchObject({ code: 'OSM_KUBERNETES_UNREACHABLE', reason: 'ECONNREFUSED' })
    expect(error.message).toContain('127.0.0.1')
    server = await FakeApiServer.start()
  })

  it('reads the credentials again after a 401, once', async () => {
    const given: string[] = []
    server.token = 'new'
    const rotating = await openKubernetes(
      {
        server: server.url,
        credentials: async (rejected) => {
          given.push(rejected ? 'new' : 'old')
          return { headers: { authorization: `Bearer ${given.at(-1)!}` }, tls: {} }
        },
      },
      'osm-test',
    )
    expect((await rotating.list(ConfigMap, {}, signal)).items).toEqual([])
    expect(given).toEqual(['old', 'new'])
    server.token = 'newest'
    expect(await failure(rotating.list(ConfigMap, {}, signal))).toMatchObject({ code: 'OSM_KUBERNETES_UNAUTHORIZED' })
    expect(given).toEqual(['old', 'new', 'old', 'new'])
  })

  it('keeps tokens and what is in Secrets out of errors', async () => {
    const secretive = await server.api(() => 'the-token')
    const action = { kind: 'status', status: 422, reason: 'Invalid', message: 'data: Invalid value: "hush"' } as const
    server.fault({ action })
    const manifest = { apiVersion: 'v1', kind: 'Secret', metadata: a, data: { key: 'hush' } }
    const refused = await failure(secretive.create(Secret, manifest, { signal }))
    server.fault({ action: { kind: 'garbage', text: '{"data":{"key":"hush"' } })
    const malformed = await failure(secretive.get(Secret, a, signal))
    server.fault({ action: { kind: 'cut' } })
    const cut = await failure(secretive.replace(Secret, manifest, { signal }))
    for (const error of [refused, malformed, cut]) {
      const text = `${inspect(error, { depth: 20 })}${JSON.stringify(error)}${error.stack ?? ''}`
      expect(text).not.toMatch(/hush|the-token/)
      expect(error.message).toContain('Secret ns/a')
    }
  })

  it.each([{ reason: undefined }, { reason: new Error('enough') }])('ends with its signal (%#)', async ({ reason }) => {
    const stop = new AbortController()
    server.fault({ action: { kind: 'hang' } })
    const listing = api.list(ConfigMap, {}, stop.signal)
    await until(() => server.requests.length === 1)
    stop.abort(reason)
    await expect(listing).rejects.toBe(stop.signal.reason)
    await expect(api.list(ConfigMap, {}, stop.signal)).rejects.toBe(stop.signal.reason)
  })

  it('ends with its signal while it waits for a connection, and leaves others alone', async () => {
    server.freeze()
    const busy = Array.from({ length: 32 }, (_, index) => api.read(`/version?${index}`, signal))
    const stop = new AbortController()
    const waiting = api.create(ConfigMap, configMap({}), { signal: stop.signal })
    await until(() => server.requests.length === 16)
    stop.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    server.thaw()
    await Promise.all(busy)
    expect(server.requests).toHaveLength(busy.length)
    expect(server.objects.list(ConfigMap)).toEqual([])
  })

  it('watches until the API server ends it, and says when it is open', async () => {
    let opened = 0
    const events: WatchEvent[] = []
    const query = { resourceVersion: '1000', timeoutSeconds: 60, onOpen: () => (opened += 1) }
    const watching = (async () => {
      for await (const event of api.watch(ConfigMap, query, signal)) events.push(event)
    })()
    await until(() => opened === 1)
    server.put(ConfigMap, a, { data: { text: 'ä\n🙂' } })
    server.watches.bookmark()
    await until(() => events.length === 2)
    server.watches.end()
    await watching
    expect(events).toMatchObject([
      { type: 'ADDED', object: { kind: 'ConfigMap', data: { text: 'ä\n🙂' } } },
      { type: 'BOOKMARK', resourceVersion: '1001' },
    ])
  })

  it('refuses a change of a watch that is larger than any object can be', async () => {
    const watching = failure(drain(api.watch(ConfigMap, { resourceVersion: '1000', timeoutSeconds: 60 }, signal)))
    await until(() => server.watches.count === 1)
    server.watches.write('x'.repeat(9 * 1024 * 1024))
    expect(await watching).toMatchObject({ code: 'OSM_KUBERNETES_RESPONSE' })
  })

  it('says 410 of a watch, whether as its status or as an event', async () => {
    server.objects.tick()
    server.objects.compact()
    const query = { resourceVersion: '1000', timeoutSeconds: 60 }
    expect(await failure(drain(api.watch(ConfigMap, query, signal)))).toMatchObject({ expired: true })
    const watching = failure(drain(api.watch(ConfigMap, { ...query, resourceVersion: '1001' }, signal)))
    await until(() => server.watches.count === 1)
    server.watches.write('{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n')
    expect(await watching).toMatchObject({ expired: true, status: 410 })
  })

  it('closes the connection of a watch that no one reads any more', async () => {
    const query = { resourceVersion: '1000', timeoutSeconds: 60, onOpen: () => server.put(ConfigMap, a) }
    const events = api.watch(ConfigMap, query, signal)[Symbol.asyncIterator]()
    expect(await events.next()).toMatchObject({ done: false, value: { type: 'ADDED' } })
    await events.return?.()
    await until(() => server.watches.count === 0)
  })

  it('has as many watches as are requested beside other requests', async () => {
    const stop = new AbortController()
    const query = { resourceVersion: '1000', timeoutSeconds: 60 }
    const watching = Array.from({ length: 60 }, () => failureOf(drain(api.watch(ConfigMap, query, stop.signal))))
    await until(() => server.watches.count === 60)
    await Promise.all(Array.from({ length: 100 }, () => api.read('/version', signal)))
    stop.abort()
    expect(await Promise.all(watching)).toEqual(Array.from({ length: 60 }, () => stop.signal.reason as unknown))
    expect(server.requests.filter(isWatch)).toHaveLength(60)
  })
})

function configMap(data: Readonly<Record<string, string>>, metadata: { readonly resourceVersion?: string } = {}) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...a, ...metadata }, data }
}

async function drain(events: AsyncIterable<unknown>): Promise<void> {
  const all = events[Symbol.asyncIterator]()
  while ((await all.next()).done !== true) continue
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'it succeeded',
    (error: unknown) => error,
  )
}

async function failure(promise: Promise<unknown>): Promise<KubernetesError> {
  const error = await failureOf(promise)
  expect(error).toBeInstanceOf(KubernetesError)
  return error as KubernetesError
}
