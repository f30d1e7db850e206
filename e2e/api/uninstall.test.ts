import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type KubernetesManifest, type KubernetesObject, type ResourceType, resourceTypes } from '@osm-ts/kubernetes'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { sharedApiServer, type ApiServer } from './harness/index.js'
import {
  ClusterStandIn,
  InstalledMesh,
  clientPod,
  httpRouteGroup,
  prepareImages,
  requestFrom,
  serverPod,
  service,
  trafficTarget,
} from './stand-in/index.js'

const signal = AbortSignal.timeout(300_000)
const shop = 'again-shop'
const url = `http://server.${shop}/books`
const caSecrets = ['osm-ca-bundle', 'osm-ca-bundle-control-plane']
// Old sidecars read the hosts file of their pod, which stands for DNS here, once a minute.
const testTimeoutMs = 120_000

describe('a mesh that is uninstalled and installed again', () => {
  let server: ApiServer
  let cluster: ClusterStandIn
  let mesh: InstalledMesh
  let rootsBefore: readonly unknown[]

  const create = (type: ResourceType, manifest: KubernetesManifest): Promise<KubernetesObject> =>
    server.api.create(type, manifest, { signal })
  const get = (type: ResourceType, name: string, namespace = ''): Promise<KubernetesObject | undefined> =>
    server.api.get(type, { namespace, name }, signal)
  const roots = async (): Promise<readonly unknown[]> =>
    Promise.all(caSecrets.map(async (name) => (await get(resourceTypes.Secret, name, mesh.namespace))?.data))
  const allow = (source: string): Promise<KubernetesObject> =>
    create(
      resourceTypes.TrafficTarget,
      trafficTarget(shop, { name: source, source, destination: 'server', routes: 'books' }),
    )
  const ask = async (client: string): Promise<number> => (await requestFrom(cluster.pod(shop, client), url)).status
  beforeAll(async () => {
    server = await sharedApiServer()
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    mesh = await InstalledMesh.install({ server, cluster, name: 'again' })
    await mesh.createMonitoredNamespace(shop, ['server', 'old', 'new'])
    await create(resourceTypes.Service, service(shop, 'server'))
    await create(resourceTypes.HTTPRouteGroup, httpRouteGroup(shop, 'books', '/books'))
    await allow('old')
    await create(resourceTypes.Pod, serverPod({ namespace: shop, name: 'server', serviceAccountName: 'server' }))
    await create(resourceTypes.Pod, clientPod({ namespace: shop, name: 'old', serviceAccountName: 'old' }))
    await cluster.ready(shop, ['server', 'old'])
    await eventually(
      () => ask('old'),
      (status) => status === 200,
    )
    rootsBefore = await roots()
    expect(rootsBefore).not.toContain(undefined)
    await mesh.uninstall()
  })

  afterAll(async () => {
    await mesh.uninstall()
    await cluster.stop()
  })

  it('takes its webhooks and rights with it', async () => {
    await expect(get(resourceTypes.MutatingWebhookConfiguration, 'osm-webhook-again')).resolves.toBeUndefined()
    await expect(get(resourceTypes.ValidatingWebhookConfiguration, 'osm-validator-mesh-again')).resolves.toBeUndefined()
    await expect(mesh.bootstrapSecretsBinding(shop)).resolves.toBeUndefined()
    for (const type of [resourceTypes.ClusterRole, resourceTypes.ClusterRoleBinding]) {
      const { items } = await server.api.list(type, { labelSelector: 'app.kubernetes.io/instance=again' }, signal)
      expect(items.map(({ metadata }) => metadata.name)).toEqual([])
    }
  })

  it('leaves the roots, the CRDs and everything that its users wrote', async () => {
    await expect(roots()).resolves.toEqual(rootsBefore)
    const crd = 'traffictargets.access.smi-spec.io'
    await expect(get(resourceTypes.CustomResourceDefinition, crd)).resolves.toBeDefined()
    await expect(get(resourceTypes.TrafficTarget, 'old', shop)).resolves.toBeDefined()
    await expect(get(resourceTypes.MeshConfig, 'osm-mesh-config', mesh.namespace)).resolves.toBeDefined()
  })

  it('leaves running sidecars to their last policy, and pods without one where it is gone', async () => {
    await expect(ask('old')).resolves.toBe(200)
    const pod = await server.api.create(resourceTypes.Pod, clientPod({ namespace: shop, name: 'unmeshed' }), {
      signal,
      dryRun: true,
    })
    expect(pod.metadata.labels).not.toHaveProperty(['osm-proxy-uuid'])
  })

  it('continues with the same roots when it is installed again: old and new sidecars trust each other and follow it', async () => {
    await mesh.helm('install', { values: {} })
    await expect(roots()).resolves.toEqual(rootsBefore)
    await mesh.bound(shop)
    await create(resourceTypes.Pod, clientPod({ namespace: shop, name: 'new', serviceAccountName: 'new' }))
    await cluster.ready(shop, ['new'])
    expect(await ask('new')).not.toBe(200)
    await allow('new')
    await eventually(
      () => ask('new'),
      (status) => status === 200,
      { timeoutMs: testTimeoutMs, what: 'the new policy in the old sidecar' },
    )
    await server.api.delete(resourceTypes.TrafficTarget, { namespace: shop, name: 'old' }, { signal })
    await eventually(
      () => ask('old'),
      (status) => status !== 200,
      { timeoutMs: testTimeoutMs, what: 'the withdrawal in the old sidecars' },
    )
    await expect(ask('new')).resolves.toBe(200)
  })
})
