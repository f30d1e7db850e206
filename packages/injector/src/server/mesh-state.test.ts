import { afterEach, describe, expect, it } from '@jest/globals'
import { createLogger, DriverRegistry, parseMeshDomains, systemClock } from '@osm-ts/core'
import type { KubernetesApi, KubernetesObject, ResourceType, WatchEvent } from '@osm-ts/kubernetes'
import { until } from '@osm-ts/driver-api/toolkit'

import { clusterFeatures } from './cluster-features.js'
import { MeshState } from './mesh-state.js'

const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
const namespace = (name: string, annotations: Readonly<Record<string, string>> = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, resourceVersion: '1', labels: { other: 'x', 'control-plane': '' }, annotations },
})
const meshConfig = (spec: unknown): KubernetesObject => ({
  apiVersion: 'config.openservicemesh.io/v1alpha2',
  kind: 'MeshConfig',
  metadata: { name: 'osm-mesh-config', namespace: 'osm-system', resourceVersion: '1' },
  spec,
})

/** As much of an API server as two informers ask of one. */
class ListedObjects implements Pick<KubernetesApi, 'list' | 'watch' | 'get'> {
  readonly #objects: readonly KubernetesObject[]
  readonly #waiting = new Map<string, (event: WatchEvent) => void>()
  /** What a namespace is when it is asked for by name. */
  stored: KubernetesObject | Error | undefined

  constructor(objects: readonly KubernetesObject[]) {
    this.#objects = objects
  }

  async list({ kind }: ResourceType) {
    return { resourceVersion: '1', items: this.#objects.filter((object) => object.kind === kind) }
  }

  async *watch({ kind }: ResourceType, _query: unknown, signal: AbortSignal): AsyncIterable<WatchEvent> {
    while (!signal.aborted) {
      yield await new Promise<WatchEvent>((resolve, reject) => {
        this.#waiting.set(kind, resolve)
        signal.addEventListener('abort', () => reject(new Error('ended')), { once: true })
      })
    }
  }

  async get(): Promise<KubernetesObject | undefined> {
    if (this.stored instanceof Error) throw this.stored
    return this.stored
  }

  /** Tells the watch of a kind as soon as there is one. */
  async tell(kind: string, event: WatchEvent): Promise<void> {
    while (!this.#waiting.has(kind)) await new Promise((resolve) => setImmediate(resolve))
    const resolve = this.#waiting.get(kind)
    this.#waiting.delete(kind)
    resolve?.(event)
  }
}

describe('MeshState', () => {
  const end = new AbortController()
  const log: string[] = []
  let roots: readonly string[] = ['one']
  afterEach(() => {
    log.length = 0
  })

  function stateOf(api: ListedObjects): MeshState {
    return new MeshState({
      // The informers request nothing else.
      api: api as unknown as KubernetesApi,
      clock: systemClock,
      random: Math.random,
      logger: createLogger('test', 'info', { write: (line: string) => void log.push(line) }),
      configName: 'osm-mesh-config',
      base: {
        meshName: 'osm',
        osmNamespace: 'osm-system',
        domains,
        registry: new DriverRegistry(),
        environment: {},
        proxyIdentity: 'secret',
        pullPolicy: 'IfNotPresent',
        nativeSidecars: true,
        sleepingHooks: true,
        ipFamilies: ['IPv4'],
        nameservers: [],
        version: '',
      },
      trustBundle: () => roots,
    })
  }

  it('follows the MeshConfig, and keeps what it said last when it is gone or cannot be used', async () => {
    const api = new ListedObjects([
      namespace('shop'),
      meshConfig({ sidecar: { sidecarClass: 'envoy', logLevel: 'info' } }),
    ])
    const state = stateOf(api)
    expect(state.ready).toBe(false)
    expect(() => state.settings()).toThrow(/were not read yet/)
    await state.start(end.signal)
    expect(state.ready).toBe(true)
    expect(state.settings().config.sidecar.logLevel).toBe('info')
    const changed = (spec: unknown): WatchEvent => ({ type: 'MODIFIED', object: meshConfig(spec) })
    await api.tell('MeshConfig', changed({ sidecar: { sidecarClass: 'envoy', logLevel: 'debug' } }))
    await until(() => state.settings().configView.sidecar.logLevel === 'debug')
    await api.tell('MeshConfig', changed({ sidecar: 7 }))
    await until(() => log.some((line) => line.includes('cannot be used')))
    expect(state.settings().config.sidecar.logLevel).toBe('debug')
    await api.tell('MeshConfig', { type: 'DELETED', object: meshConfig({}) })
    await until(() => log.some((line) => line.includes('was deleted')))
    expect(state.settings().config.sidecar.logLevel).toBe('debug')
  })

  it('hands out the roots of now', async () => {
    const state = stateOf(new ListedObjects([meshConfig({})]))
    state.trustChanged()
    await state.start(end.signal)
    const { config, trustBundle } = state.settings()
    expect(trustBundle).toEqual(['one'])
    roots = ['two', 'one']
    state.trustChanged()
    expect(state.settings()).toMatchObject({ config, trustBundle: roots })
  })

  it('is not ready without a MeshConfig, and says which one', async () => {
    const state = stateOf(new ListedObjects([namespace('shop')]))
    await state.start(end.signal)
    expect(state.ready).toBe(false)
    expect(() => state.settings()).toThrow(/no usable MeshConfig osm-system\/osm-mesh-config/)
  })

  it('knows namespaces by what it reads of them, and requests one as it is now', async () => {
    const api = new ListedObjects([
      namespace('shop', { 'openservicemesh.io/sidecar-injection': 'yes', note: 'x' }),
      meshConfig({}),
    ])
    const state = stateOf(api)
    await state.start(end.signal)
    expect(state.knownNamespace('shop')).toEqual({
      name: 'shop',
      labels: { 'control-plane': '' },
      annotations: { 'openservicemesh.io/sidecar-injection': 'yes' },
    })
    expect(state.knownNamespace('new')).toBeUndefined()
    api.stored = namespace('shop', { 'openservicemesh.io/metrics': 'enabled', note: 'y' })
    await expect(state.readNamespace('shop', end.signal)).resolves.toEqual({
      name: 'shop',
      labels: { 'control-plane': '' },
      annotations: { 'openservicemesh.io/metrics': 'enabled' },
    })
    for (const [stored, message] of [
      [undefined, 'namespace shop does not exist'],
      [new Error('no answer'), 'namespace shop cannot be read: no answer'],
    ] as const) {
      api.stored = stored
      await expect(state.readNamespace('shop', end.signal)).rejects.toMatchObject({
        code: 'OSM_INJECT_NOT_READY',
        message,
      })
    }
    end.abort()
  })
})

describe('features of a cluster', () => {
  it.each([
    ['1', '28', false, false],
    ['1', '29', false, false],
    ['1', '31+', false, true],
    ['1', '32+', true, true],
    ['1', '34', true, true],
    ['2', '0', true, true],
    [undefined, undefined, false, false],
  ])('of version %s.%s', async (major, minor, nativeSidecars, sleepingHooks) => {
    const api = { read: () => Promise.resolve({ major, minor }) }
    const { signal } = new AbortController()
    await expect(clusterFeatures('auto', api, signal)).resolves.toEqual({ nativeSidecars, sleepingHooks })
    await expect(clusterFeatures('on', api, signal)).resolves.toEqual({ nativeSidecars: true, sleepingHooks })
    await expect(clusterFeatures('off', api, signal)).resolves.toEqual({ nativeSidecars: false, sleepingHooks })
  })
})
