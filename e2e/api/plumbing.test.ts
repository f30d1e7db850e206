import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { createLogger, systemClock } from '@osm-ts/core'
import {
  connectKubernetes,
  createInformer,
  EventRecorder,
  type Informer,
  type InformerChange,
  isKubernetesError,
  type KubernetesApi,
  type KubernetesManifest,
  type KubernetesObject,
  LeaderElector,
  type ObjectName,
  resourceTypes,
  SecretCaStore,
} from '@osm-ts/kubernetes'
import { until } from '@osm-ts/driver-api/toolkit'

import { programsFrom, startApiServer, type OwnApiServer } from './harness/index.js'
import { CuttableProxy } from './support/cuttable-proxy.js'

const { ConfigMap, Lease, Namespace, Secret, ServiceAccount } = resourceTypes
const signal = AbortSignal.timeout(600_000)
const logger = createLogger('test', 'disabled')

let own: OwnApiServer
let api: KubernetesApi
let proxy: CuttableProxy
let stop: AbortController

beforeAll(async () => {
  own = await startApiServer(programsFrom(process.env), signal)
  api = own.client.api
  proxy = await CuttableProxy.start(own.client.url)
  stop = new AbortController()
})

afterEach(() => {
  stop.abort()
  stop = new AbortController()
  proxy.mend()
})

afterAll(async () => {
  await proxy.stop()
  await own.stop()
})

describe('following objects of a real API server', () => {
  it('lists by pages and continues with a watch', async () => {
    const namespace = await newNamespace()
    await Promise.all(Array.from({ length: 1_100 }, (_, index) => put(namespace, `m${String(index)}`, '1')))
    const pages: number[] = []
    const counting: KubernetesApi = Object.assign(Object.create(api) as KubernetesApi, {
      list: async (...query: Parameters<KubernetesApi['list']>) => {
        const page = await api.list(...query)
        pages.push(page.items.length)
        return page
      },
      watch: api.watch.bind(api),
    })
    const { informer, changes } = await follow(counting, namespace)
    expect(informer.list()).toHaveLength(1_100)
    expect(pages).toEqual([500, 500, 100])
    await put(namespace, 'm0', '2')
    await api.delete(ConfigMap, { namespace, name: 'm1' }, { signal })
    await until(() => changes.length === 2)
    expect(changes).toEqual([
      [{ name: { namespace, name: 'm0' }, before: 'm0=1', after: 'm0=2' }],
      [{ name: { namespace, name: 'm1' }, before: 'm1=1' }],
    ])
  })

  it('continues with its watch after the network was cut, without another list', async () => {
    const namespace = await newNamespace()
    await put(namespace, 'a', '1')
    const { informer, changes, lists } = await follow(await viaProxy(), namespace)
    proxy.cut()
    await put(namespace, 'a', '2')
    await put(namespace, 'b', '1')
    await until(() => informer.state().state === 'stale')
    proxy.mend()
    await until(() => changes.length === 2)
    expect(informer.list()).toEqual(['a=2', 'b=1'])
    expect(lists()).toBe(1)
    expect(informer.state()).toEqual({ state: 'synced' })
  })

  it('follows an API server that is killed and started again', async () => {
    const namespace = await newNamespace()
    await put(namespace, 'a', '1')
    const { informer, changes } = await follow(api, namespace)
    await own.kill()
    await until(() => informer.state().state === 'stale')
    await own.start(signal)
    await put(namespace, 'b', '1')
    await until(() => changes.flat().length === 1)
    expect(informer.list()).toEqual(['a=1', 'b=1'])
    await until(() => informer.state().state === 'synced')
  })

  it('gets the whole difference when history was compacted away', async () => {
    const namespace = await newNamespace()
    for (const name of ['a', 'b', 'c']) await put(namespace, name, '1')
    const { informer, changes, lists } = await follow(await viaProxy(), namespace)
    const first = await api.list(ConfigMap, { namespace, limit: 1 }, signal)
    proxy.cut()
    await put(namespace, 'b', '2')
    await api.delete(ConfigMap, { namespace, name: 'a' }, { signal })
    const last = await put(namespace, 'd', '1')
    await compact(last.metadata.resourceVersion!)
    await own.restart(signal) // what its cache remembers is gone as well
    const tooOld = { namespace, resourceVersion: first.resourceVersion, timeoutSeconds: 5 }
    await expect(drain(api.watch(ConfigMap, tooOld, signal))).rejects.toMatchObject({ expired: true, status: 410 })
    await expect(api.list(ConfigMap, { namespace, limit: 1, continue: first.continue! }, signal)).rejects.toMatchObject(
      { expired: true, status: 410 },
    )
    proxy.mend()
    await until(() => changes.length > 0)
    expect(changes).toEqual([
      [
        { name: { namespace, name: 'a' }, before: 'a=1' },
        { name: { namespace, name: 'b' }, before: 'b=1', after: 'b=2' },
        { name: { namespace, name: 'd' }, after: 'd=1' },
      ],
    ])
    expect(informer.list()).toEqual(['b=2', 'c=1', 'd=1'])
    expect(lists()).toBe(2)
  })

  it('says that its token is no longer accepted, and takes a new one from the kubeconfig', async () => {
    const namespace = await newNamespace()
    const account = { namespace, name: 'reader' }
    const makeAccount = async (): Promise<string> => {
      await api.create(ServiceAccount, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account }, { signal })
      return own.client.kubeconfigFor(account)
    }
    await letRead(account)
    const kubeconfig = await makeAccount()
    const { informer, changes } = await follow(await connectKubernetes({ kubeconfig, userAgent: 'reader' }), namespace)
    await api.delete(ServiceAccount, account, { signal })
    await own.restart(signal) // ends the watch that the token had opened
    await until(() => errorStatus(informer) === 401)
    const renewed = `${kubeconfig}.new`
    await writeFile(renewed, readFileSync(await makeAccount()))
    await rename(renewed, kubeconfig)
    await put(namespace, 'a', '1')
    await until(() => changes.flat().length === 1)
    expect(informer.state()).toEqual({ state: 'synced' })
  })
})

describe('writing to a real API server', () => {
  it('leaves fields to their owner unless it is forced', async () => {
    const namespace = await newNamespace()
    const apply = (fieldManager: string, data: Readonly<Record<string, string>>, force = false): Promise<unknown> =>
      api.apply(ConfigMap, configMap(namespace, 'shared', data), { signal, fieldManager, force })
    await apply('one', { owned: '1', both: 'x' })
    await apply('two', { other: '2', both: 'x' })
    await expect(apply('two', { owned: '2' })).rejects.toMatchObject({
      conflict: true,
      status: 409,
      reason: 'Conflict',
    })
    await apply('two', { owned: '2' }, true)
    expect((await api.get(ConfigMap, { namespace, name: 'shared' }, signal))?.data).toEqual({ owned: '2', both: 'x' })
  })

  it('stores nothing in a dry run, and refuses what it would refuse in earnest', async () => {
    const namespace = await newNamespace()
    const dryRun = { signal, dryRun: true }
    await api.create(ConfigMap, configMap(namespace, 'dry', {}), dryRun)
    await api.apply(ConfigMap, configMap(namespace, 'dry', {}), { ...dryRun, fieldManager: 'me', force: false })
    expect(await api.get(ConfigMap, { namespace, name: 'dry' }, signal)).toBeUndefined()
    await expect(api.create(ConfigMap, configMap(namespace, 'NOT A NAME', {}), dryRun)).rejects.toMatchObject({
      code: 'OSM_KUBERNETES_INVALID',
      status: 422,
    })
    await put(namespace, 'kept', '1')
    await api.delete(ConfigMap, { namespace, name: 'kept' }, dryRun)
    expect(await api.get(ConfigMap, { namespace, name: 'kept' }, signal)).toBeDefined()
  })

  it('writes only over what it has read', async () => {
    const namespace = await newNamespace()
    const created = await put(namespace, 'a', '1')
    await put(namespace, 'a', '2')
    await expect(api.replace(ConfigMap, created, { signal })).rejects.toMatchObject({ conflict: true })
    const { resourceVersion } = created.metadata
    const stale = { metadata: { resourceVersion }, data: { value: '3' } }
    const name = { namespace, name: 'a' }
    await expect(api.mergePatch(ConfigMap, name, stale, { signal })).rejects.toMatchObject({ conflict: true })
    const another = { signal, uid: randomUUID() }
    await expect(api.delete(ConfigMap, name, another)).rejects.toMatchObject({ conflict: true })
    expect(await api.delete(ConfigMap, name, { signal, uid: created.metadata.uid! })).toBe(true)
  })

  it('does not send a Secret back to anyone who requests its metadata alone', async () => {
    const metadata = { namespace: await newNamespace(), name: 'quiet' }
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata, data: { key: 'aHVzaA==' } }
    for (const write of ['create', 'replace'] as const) {
      const answer = await api[write](Secret, secret, { signal, answer: 'metadata' })
      expect(answer).toMatchObject({ kind: 'Secret', metadata })
      expect(answer).not.toHaveProperty('data')
    }
    expect((await api.get(Secret, metadata, signal))?.data).toEqual(secret.data)
  })

  it('says nothing of a Secret that it refuses', async () => {
    const namespace = await newNamespace()
    const data = { 'not a key!': Buffer.from('hush').toString('base64') }
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name: 's' }, data }
    const error: unknown = await api.create(Secret, secret, { signal }).catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      code: 'OSM_KUBERNETES_INVALID',
      status: 422,
      details: { fields: [expect.any(String)] },
    })
    expect((error as Error).message).not.toMatch(/hush|aHVzaA/)
  })

  it('records events that the API server accepts', async () => {
    const namespace = await newNamespace()
    const recorder = new EventRecorder({ api, component: 'osm-controller', namespace, clock: systemClock, logger })
    const object = { apiVersion: 'v1', kind: 'Pod', namespace, name: 'p', uid: randomUUID() }
    const message = 'no configuration'
    recorder.record({ object, type: 'Warning', reason: 'FatalInitializationError', message })
    recorder.record({ object, type: 'Warning', reason: 'FatalInitializationError', message })
    const mesh = { apiVersion: 'v1', kind: 'Namespace', name: namespace }
    recorder.record({ object: mesh, type: 'Normal', reason: 'Joined', message: 'it is part of the mesh' })
    await recorder.close()
    const { items } = await api.list(resourceTypes.Event, { namespace }, signal)
    expect(items).toMatchObject([{ type: 'Warning', reason: 'FatalInitializationError', count: 2, message }])
    const fieldSelector = `involvedObject.name=${namespace}`
    const outside = await api.list(resourceTypes.Event, { namespace: 'default', fieldSelector }, signal)
    expect(outside.items).toMatchObject([{ reason: 'Joined', count: 1 }])
  })
})

describe('sharing by a real API server', () => {
  it('ends with one root of each authority when several programs start at once', async () => {
    const namespace = await newNamespace()
    const stores = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const client = await connectKubernetes({ kubeconfig: own.client.kubeconfigPath, userAgent: 'racer' })
        return new SecretCaStore({ api: client, namespace, secretName: 'osm-ca-bundle', labels: {}, signal })
      }),
    )
    for (const authority of ['workload', 'control-plane'] as const) {
      const roots = await Promise.all(
        stores.map((store, index) => store.create(authority, `c${String(index)}`, `k${String(index)}`)),
      )
      const pairs = new Set(roots.map((root) => `${root.certificate} ${root.privateKey()}`))
      expect([...pairs]).toEqual([expect.stringMatching(/^c(\d) k\1$/)])
    }
  })

  it('has one leader at a time, and another one when that is cut off or stops', async () => {
    const namespace = await newNamespace()
    const terms: string[] = []
    const stand = (
      identity: string,
      client: KubernetesApi,
      end: AbortSignal,
    ): { elector: LeaderElector; done: Promise<void> } => {
      const elector = new LeaderElector({
        ...{ api: client, namespace, name: 'leader', identity, clock: systemClock, random: Math.random, logger },
        ...{ leaseDurationMs: 4_000, renewDeadlineMs: 2_500, retryPeriodMs: 400 },
      })
      const done = elector.run(end, async (leading) => {
        terms.push(`${identity} leads`)
        await new Promise((resolve) => leading.addEventListener('abort', resolve))
        terms.push(`${identity} stops`)
      })
      return { elector, done }
    }
    const [firstEnd, secondEnd] = [new AbortController(), new AbortController()]
    const first = stand('first', await viaProxy(), firstEnd.signal)
    await until(() => first.elector.leading)
    const second = stand('second', api, secondEnd.signal)
    proxy.cut()
    await until(() => second.elector.leading)
    expect(first.elector.leading).toBe(false)
    proxy.mend()
    secondEnd.abort()
    await second.done
    await until(() => first.elector.leading)
    firstEnd.abort()
    await first.done
    expect(terms).toEqual(['first leads', 'first stops', 'second leads', 'second stops', 'first leads', 'first stops'])
    const lease = await api.get(Lease, { namespace, name: 'leader' }, signal)
    expect(lease?.spec).toMatchObject({ holderIdentity: '', leaseTransitions: 2 })
  })
})

/** An informer of the ConfigMaps of a namespace that has its first list. */
async function follow(
  client: KubernetesApi,
  namespace: string,
): Promise<{
  readonly informer: Informer<string>
  readonly changes: (readonly InformerChange<string>[])[]
  readonly lists: () => number
}> {
  const changes: (readonly InformerChange<string>[])[] = []
  let lists = 0
  const outcomes = { inc: (labels: Readonly<Record<string, string>>) => (lists += labels.outcome === 'ok' ? 1 : 0) }
  const nothing = { inc: () => undefined, set: () => undefined, observe: () => undefined }
  const informer = createInformer<string>({
    type: ConfigMap,
    namespace,
    fieldSelector: 'metadata.name!=kube-root-ca.crt',
    project: ({ metadata, data }) => `${metadata.name}=${(data as { readonly value: string }).value}`,
    api: client,
    clock: systemClock,
    random: Math.random,
    logger,
    metrics: {
      counter: (name) => (name === 'osm_kubernetes_list_count' ? outcomes : nothing),
      gauge: () => nothing,
      histogram: () => nothing,
    },
  })
  informer.subscribe((change) => changes.push(change))
  await informer.start(stop.signal)
  return { informer, changes, lists: () => lists }
}

/** The API server through the proxy. */
async function viaProxy(): Promise<KubernetesApi> {
  const config = JSON.parse(readFileSync(own.client.kubeconfigPath, 'utf8')) as {
    readonly clusters: readonly { readonly cluster: Record<string, string> }[]
  }
  // The certificate is not for the address of the proxy.
  Object.assign(config.clusters[0]!.cluster, { server: proxy.url, 'tls-server-name': 'kubernetes' })
  const kubeconfig = join(own.client.folder, 'proxied.kubeconfig')
  await writeFile(kubeconfig, JSON.stringify(config), { mode: 0o600 })
  return connectKubernetes({ kubeconfig, userAgent: 'proxied' })
}

/** Has etcd forget everything before a revision. */
async function compact(revision: string): Promise<void> {
  const answer = await fetch(`http://${own.client.address}:2379/v3/kv/compaction`, {
    method: 'POST',
    body: JSON.stringify({ revision, physical: true }),
    signal,
  })
  if (!answer.ok) throw new Error(`etcd does not compact: ${await answer.text()}`)
}

async function newNamespace(): Promise<string> {
  const name = `plumbing-${randomUUID().slice(0, 8)}`
  await api.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, { signal })
  return name
}

async function put(namespace: string, name: string, value: string): Promise<KubernetesObject> {
  return api.apply(ConfigMap, configMap(namespace, name, { value }), { signal, fieldManager: 'test', force: true })
}

function configMap(namespace: string, name: string, data: Readonly<Record<string, string>>): KubernetesManifest {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, data }
}

/** Lets a service account read the ConfigMaps of its namespace. */
async function letRead({ namespace, name }: ObjectName): Promise<void> {
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const metadata = { namespace, name }
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }]
  await api.create(resourceTypes.Role, { apiVersion, kind: 'Role', metadata, rules }, { signal })
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name }
  const subjects = [{ kind: 'ServiceAccount', namespace, name }]
  const binding = { apiVersion, kind: 'RoleBinding', metadata, roleRef, subjects }
  await api.create(resourceTypes.RoleBinding, binding, { signal })
}

function errorStatus(informer: Informer<string>): number | undefined {
  const state = informer.state()
  return 'error' in state && isKubernetesError(state.error) ? state.error.status : undefined
}

async function drain(events: AsyncIterable<unknown>): Promise<void> {
  const all = events[Symbol.asyncIterator]()
  while ((await all.next()).done !== true) continue
}
