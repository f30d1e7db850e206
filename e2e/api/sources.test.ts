import { setMaxListeners } from 'node:events'

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { makeObjectKey } from '@osm-ts/core'
import {
  type CustomResourceDefinition,
  customResourceDefinitions,
  inVersion,
  type KubernetesApi,
  resourceTypes,
} from '@osm-ts/kubernetes'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { programsFrom, startApiServer, type OwnApiServer } from './harness/index.js'
import { ClusterObjects } from './support/cluster-objects.js'
import { definitionOf, untilServed } from './support/definitions.js'
import { WatchedMesh } from './support/watched-mesh.js'

const signal = AbortSignal.timeout(420_000)
setMaxListeners(0, signal)
const uuidOf = (proxy: string): string => proxy.slice(0, proxy.indexOf('/'))
const uuid = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
const asInstaller = { fieldManager: 'osm-bootstrap', force: true, signal } as const
const splits = 'trafficsplits.split.smi-spec.io'

const target = (namespace: string, name: string) => ({
  spec: {
    destination: { kind: 'ServiceAccount', name, namespace },
    rules: [{ kind: 'HTTPRouteGroup', name: 'routes', matches: ['all'] }],
    sources: [{ kind: 'ServiceAccount', name: 'client', namespace }],
  },
})
const split = { spec: { service: 'store', backends: [{ service: 'store', weight: 1 }] } }

let server: OwnApiServer
let api: KubernetesApi
let cluster: ClusterObjects
const running: WatchedMesh[] = []

/** Waits for what others bring about. */
async function comesTrue(what: string, condition: () => boolean, timeoutMs = 30_000): Promise<void> {
  await eventually(condition, (answer) => answer, { what, timeoutMs })
}

async function install(definition: CustomResourceDefinition): Promise<void> {
  await api.apply(resourceTypes.CustomResourceDefinition, definition, asInstaller)
  await untilServed(api, definition, signal)
}

async function follow(meshName = 'osm', osmNamespace = 'osm-system'): Promise<WatchedMesh> {
  const mesh = new WatchedMesh({ api, meshName, osmNamespace })
  running.push(mesh)
  await mesh.start()
  return mesh
}

beforeAll(async () => {
  server = await startApiServer(programsFrom(process.env), signal)
  api = server.client.api
  cluster = new ClusterObjects(api, signal)
  // All but one, which comes late.
  const definitions = customResourceDefinitions().filter(({ metadata }) => metadata.name !== splits)
  await Promise.all(definitions.map(install))
  for (const name of ['osm-system', 'osm-second']) await cluster.namespace(name, undefined)
  await cluster.namespace('shop', 'osm')
  await cluster.service('shop', 'store')
  await cluster.workload('shop', 'store', '10.1.0.1', uuid(1))
  await cluster.workload('shop', 'client', '10.1.0.2', uuid(2))
  await cluster.put(resourceTypes.TrafficTarget, { name: 'open', namespace: 'shop' }, target('shop', 'store'))
})

afterEach(async () => {
  await Promise.all(running.splice(0).map((mesh) => mesh.stop()))
})

afterAll(() => server.stop())

describe('a mesh that is read from an API server', () => {
  it('consists of the namespaces that are enrolled in it, from the moment they are', async () => {
    await cluster.namespace('late', undefined)
    await cluster.service('late', 'web')
    await cluster.workload('late', 'web', '10.2.0.1', uuid(3))
    await cluster.put(resourceTypes.TrafficTarget, { name: 'open', namespace: 'late' }, target('late', 'web'))
    const mesh = await follow()
    expect(mesh.keys().filter((key) => !key.startsWith('MeshConfig'))).toEqual([
      'Namespace//shop',
      'Service/shop/store',
      'ServiceAccount/shop/client',
      'ServiceAccount/shop/store',
      'TrafficTarget/shop/open',
      'WorkloadInstance/shop/client',
      'WorkloadInstance/shop/store',
    ])
    expect(mesh.endpoints('shop', 'store')).toMatchObject({
      state: 'known',
      items: [
        { address: '10.1.0.1', port: 8080, account: { name: 'store' }, sidecar: { uuid: uuid(1), class: 'envoy' } },
      ],
    })
    await cluster.namespace('late', 'osm')
    await comesTrue('the namespace joins', () => mesh.has('WorkloadInstance/late/web'))
    expect(mesh.changes.filter(({ upserts }) => upserts.length > 0)).toHaveLength(1)
    expect(mesh.endpoints('late', 'web').items).toHaveLength(1)
    await cluster.namespace('late', 'osm', { 'openservicemesh.io/ignore': 'true' })
    await comesTrue('the namespace leaves', () => !mesh.keys().some((key) => key.includes('late')))
    expect(mesh.endpoints('late', 'web').items).toEqual([])
    await cluster.namespace('late', undefined)
  })

  it('is not mixed up with another mesh of the cluster', async () => {
    await cluster.namespace('bank', 'second')
    await cluster.service('bank', 'vault')
    await cluster.workload('bank', 'vault', '10.3.0.1', uuid(4))
    await cluster.put(resourceTypes.TrafficTarget, { name: 'open', namespace: 'bank' }, target('bank', 'vault'))
    for (const namespace of ['osm-system', 'osm-second'])
      await cluster.put(resourceTypes.MeshConfig, { name: 'osm-mesh-config', namespace }, { spec: config(namespace) })
    const [first, second] = await Promise.all([follow(), follow('second', 'osm-second')])
    expect(first.keys().filter((key) => /bank|second/.test(key))).toEqual([])
    expect(second.keys()).toEqual([
      'MeshConfig/osm-second/osm-mesh-config',
      'Namespace//bank',
      'Service/bank/vault',
      'ServiceAccount/bank/vault',
      'TrafficTarget/bank/open',
      'WorkloadInstance/bank/vault',
    ])
    expect(first.catalog.listProxies().map(uuidOf)).toEqual([uuid(1), uuid(2)])
    expect(second.catalog.listProxies().map(uuidOf)).toEqual([uuid(4)])
    // A namespace that goes over from one to the other.
    await cluster.namespace('bank', 'osm')
    await comesTrue('the other mesh has it', () => first.has('Service/bank/vault') && !second.has('Service/bank/vault'))
    await cluster.namespace('bank', 'second')
    await comesTrue('it is back', () => !first.has('Service/bank/vault') && second.has('Service/bank/vault'))
  })

  it('does without a kind that is not installed, and reads it in whatever version it comes', async () => {
    const mesh = await follow()
    expect(mesh.problems('OSM_SOURCE_KIND_MISSING')).toEqual([expect.stringContaining(splits)])
    // As OSM installed it.
    const complete = definitionOf('TrafficSplit')
    const versions = complete.spec.versions.filter(({ name }) => name === 'v1alpha2')
    const old = { ...complete, spec: { ...complete.spec, versions: versions.map((it) => ({ ...it, storage: true })) } }
    await install(old)
    const type = inVersion(resourceTypes.TrafficSplit, 'v1alpha2')
    await cluster.put(type, { name: 'weights', namespace: 'shop' }, split)
    await comesTrue('the old version is read', () => mesh.has('TrafficSplit/shop/weights'), 60_000)
    expect(mesh.problems('OSM_SOURCE_KIND_MISSING')).toEqual([])
    expect(mesh.feed.current()?.list('TrafficSplit')[0]).toMatchObject({
      apiVersion: 'split.smi-spec.io/v1alpha4',
      spec: split.spec,
    })
    await api.delete(resourceTypes.CustomResourceDefinition, { namespace: '', name: splits }, { signal })
    await comesTrue('the kind is gone', () => mesh.problems('OSM_SOURCE_KIND_MISSING').length === 1, 60_000)
    expect(mesh.has('TrafficSplit/shop/weights')).toBe(false)
    expect(mesh.has('TrafficTarget/shop/open')).toBe(true)
    await install(complete)
    await cluster.put(resourceTypes.TrafficSplit, { name: 'weights', namespace: 'shop' }, split)
    await comesTrue('the new version is read', () => mesh.has('TrafficSplit/shop/weights'), 60_000)
    await cluster.remove(resourceTypes.TrafficSplit, 'shop', 'weights')
  })

  it('goes on by the MeshConfig that it had when that is emptied or deleted', async () => {
    const name = { name: 'osm-mesh-config', namespace: 'osm-system' }
    await cluster.put(resourceTypes.MeshConfig, name, { spec: config('first') })
    const mesh = await follow()
    const validity = (): number => mesh.configurator.current().certificate.serviceCertValidityMs
    const before = validity()
    const policies = mesh.catalog.listProxies().map((proxy) => mesh.catalog.policyFor(proxy)?.hash)
    mesh.settle()
    await api.mergePatch(resourceTypes.MeshConfig, name, { spec: { sidecar: null, certificate: null } }, { signal })
    await comesTrue('it is emptied', () =>
      mesh.configurator.problems().some(({ code }) => code === 'OSM_CONFIG_ABSENT'),
    )
    await cluster.remove(resourceTypes.MeshConfig, name.namespace, name.name)
    await comesTrue('it is deleted', () => !mesh.has('MeshConfig/osm-system/osm-mesh-config'))
    expect(mesh.configurator.problems().map(({ code }) => code)).toContain('OSM_CONFIG_ABSENT')
    expect(validity()).toBe(before)
    expect(mesh.computed()).toEqual([])
    expect(mesh.catalog.listProxies().map((proxy) => mesh.catalog.policyFor(proxy)?.hash)).toEqual(policies)
    await cluster.put(resourceTypes.MeshConfig, name, {
      spec: { ...config('first'), certificate: { serviceCertValidityDuration: '2h', certKeyBitSize: 2048 } },
    })
    await comesTrue('it is back', () => validity() === 7_200_000)
  })

  it('counts nothing for a storm of changes without effect', async () => {
    const mesh = await follow()
    mesh.settle()
    for (let round = 1; round <= 10; round += 1) {
      const annotations = { 'tool.example.com/seen': String(round) }
      await Promise.all([
        cluster.put(
          resourceTypes.TrafficTarget,
          { name: 'open', namespace: 'shop', annotations },
          target('shop', 'store'),
        ),
        cluster.setStatus(resourceTypes.TrafficTarget, 'shop', 'open', {
          conditions: [
            {
              type: 'Seen',
              status: 'True',
              reason: 'Seen',
              message: String(round),
              lastTransitionTime: '2026-01-01T00:00:00Z',
            },
          ],
        }),
        cluster.setStatus(resourceTypes.Pod, 'shop', 'store', { message: String(round) }),
        cluster.setStatus(resourceTypes.Service, 'shop', 'store', {
          conditions: [
            {
              type: 'Seen',
              status: 'True',
              reason: 'Seen',
              message: String(round),
              lastTransitionTime: '2026-01-01T00:00:00Z',
            },
          ],
        }),
        cluster.put(resourceTypes.ServiceAccount, { name: 'store', namespace: 'shop', annotations }),
        cluster.namespace('shop', 'osm'),
      ])
    }
    const written = makeObjectKey('TrafficTarget', 'shop', 'open')
    await comesTrue('the last status arrives', () =>
      JSON.stringify(mesh.source.served(written)?.facts.status).includes('"message":"10"'),
    )
    expect(mesh.changes).toEqual([])
    expect(mesh.computed()).toEqual([])
    expect(mesh.pushes).toBe(0)
    // Everything of a kind that was written before a marker of the kind has arrived once the marker has.
    await cluster.put(resourceTypes.ServiceAccount, { name: 'marker', namespace: 'shop' })
    await cluster.put(resourceTypes.TrafficTarget, { name: 'marker', namespace: 'shop' }, target('shop', 'marker'))
    await cluster.service('shop', 'marker')
    await comesTrue('the markers arrive', () =>
      ['Service', 'ServiceAccount', 'TrafficTarget'].every((kind) => mesh.has(`${kind}/shop/marker`)),
    )
    const upserts = mesh.changes.flatMap((change) => change.upserts.map(({ metadata }) => metadata.name))
    expect(new Set(upserts)).toEqual(new Set(['marker']))
    for (const type of [resourceTypes.ServiceAccount, resourceTypes.TrafficTarget, resourceTypes.Service])
      await cluster.remove(type, 'shop', 'marker')
    await comesTrue('the markers are gone', () => !mesh.keys().some((key) => key.endsWith('/marker')))
    mesh.settle()
    for (let round = 1; round <= 10; round += 1)
      await cluster.setStatus(resourceTypes.Pod, 'shop', 'store', { message: `again ${String(round)}` })
    await cluster.workload('shop', 'late-pod', '10.1.0.9', uuid(9))
    await comesTrue('the last pod arrives', () => mesh.has('WorkloadInstance/shop/late-pod'))
    expect(mesh.changes.flatMap(({ upserts: found }) => found.map(({ metadata }) => metadata.name))).not.toContain(
      'store',
    )
    await cluster.remove(resourceTypes.Pod, 'shop', 'late-pod')
  })

  it('loses nothing while the API server is gone', async () => {
    const mesh = await follow()
    const keys = mesh.keys()
    mesh.settle()
    await server.kill()
    await comesTrue('it is noticed', () => mesh.problems('OSM_SOURCE_STALE').length > 0, 60_000)
    expect(mesh.keys()).toEqual(keys)
    expect(mesh.endpoints('shop', 'store')).toMatchObject({
      state: 'stale',
      items: [{ address: '10.1.0.1' }],
      conditions: [{ code: 'OSM_ENDPOINTS_PROVIDER_FAILED' }],
    })
    expect(mesh.pushes).toBe(0)
    await server.start(signal)
    await cluster.service('shop', 'after')
    await comesTrue('it is followed again', () => mesh.has('Service/shop/after'), 90_000)
    await comesTrue('nothing is stale', () => mesh.problems('OSM_SOURCE_STALE').length === 0, 90_000)
    expect(mesh.endpoints('shop', 'store').state).toBe('known')
    expect(mesh.keys()).toEqual([...keys, 'Service/shop/after'].sort())
    expect(mesh.changes.flatMap(({ deletes }) => deletes)).toEqual([])
    await cluster.remove(resourceTypes.Service, 'shop', 'after')
  })
})

/** A MeshConfig as users write it; the text distinguishes two. */
function config(logLevelOf: string) {
  return {
    sidecar: { sidecarClass: 'envoy', logLevel: logLevelOf === 'first' ? 'error' : 'warn' },
    certificate: { serviceCertValidityDuration: '24h', certKeyBitSize: 2048 },
  }
}
