import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  inVersion,
  type KubernetesManifest,
  type KubernetesObject,
  type ResourceType,
  resourceTypes,
} from '@osm-ts/kubernetes'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { programsFrom, startApiServer, type OwnApiServer } from './harness/index.js'
import { previousCrds } from './previous/crds.js'
import { previousCaSecret, previousMeshConfig, previousTrafficSplit, previousWebhook } from './previous/objects.js'
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
  type Pod,
} from './stand-in/index.js'

const signal = AbortSignal.timeout(300_000)
const previousChart = new URL('previous/chart', import.meta.url).pathname
const shop = 'upgrade-shop'

/** CRDs belong to the whole cluster: it has an API server of its own, where no newer ones are. */
describe('an upgrade from Open Service Mesh 1.2', () => {
  let own: OwnApiServer
  let cluster: ClusterStandIn
  let mesh: InstalledMesh
  let caSecret: Awaited<ReturnType<typeof previousCaSecret>>

  const create = (type: ResourceType, manifest: KubernetesManifest): Promise<KubernetesObject> =>
    own.client.api.create(type, manifest, { signal })
  const get = (type: ResourceType, name: string, namespace = ''): Promise<KubernetesObject | undefined> =>
    own.client.api.get(type, { namespace, name }, signal)

  beforeAll(async () => {
    own = await startApiServer(programsFrom(process.env), signal)
    const server = own.client
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    for (const crd of previousCrds()) await create(resourceTypes.CustomResourceDefinition, crd)
    mesh = await InstalledMesh.install({ server, cluster, name: 'osm', chartPath: previousChart })
    caSecret = await previousCaSecret(mesh.namespace)
    await create(resourceTypes.Secret, caSecret)
    await eventually(
      () => create(resourceTypes.MeshConfig, previousMeshConfig(mesh.namespace)).catch(() => undefined),
      (created) => created !== undefined,
    )
    await create(
      resourceTypes.MutatingWebhookConfiguration,
      previousWebhook(mesh.name, mesh.namespace, caSecret.data['ca.crt']),
    )
    const labels = { 'openservicemesh.io/monitored-by': mesh.name }
    const annotations = { 'openservicemesh.io/sidecar-injection': 'enabled' }
    await cluster.createNamespace(shop, { labels, annotations })
    for (const name of ['client', 'server']) await cluster.createServiceAccount(shop, name)
    await create(inVersion(resourceTypes.TrafficSplit, 'v1alpha2'), previousTrafficSplit(shop))
    await create(resourceTypes.HTTPRouteGroup, httpRouteGroup(shop, 'books', '/books'))
    await create(
      resourceTypes.TrafficTarget,
      trafficTarget(shop, { name: 'books', source: 'client', destination: 'server', routes: 'books' }),
    )

    await mesh.helm('upgrade', { values: { enablePermissiveTrafficPolicy: true } })
  })

  afterAll(async () => {
    await cluster.stop()
    await own.stop()
  })

  it('keeps what the user has set in MeshConfig, and adds what is new', async () => {
    const { spec: before } = previousMeshConfig(mesh.namespace)
    const config = await get(resourceTypes.MeshConfig, 'osm-mesh-config', mesh.namespace)
    expect(config).toMatchObject({ spec: before })
    expect(config).toMatchObject({ spec: { sidecar: { sidecarClass: 'envoy' } } })
  })

  it('keeps the root that running proxies trust', async () => {
    await expect(get(resourceTypes.Secret, caSecret.metadata.name, mesh.namespace)).resolves.toMatchObject({
      data: caSecret.data,
    })
  })

  it('serves stored objects in the versions they were written in, and in newer ones', async () => {
    const { spec } = previousTrafficSplit(shop)
    for (const version of ['v1alpha2', 'v1alpha4']) {
      const split = await get(inVersion(resourceTypes.TrafficSplit, version), 'books', shop)
      expect(split).toMatchObject({ apiVersion: `split.smi-spec.io/${version}`, spec })
    }
  })

  it('takes away the account that could read every Secret', async () => {
    await expect(get(resourceTypes.ClusterRole, mesh.name)).resolves.toBeUndefined()
    await expect(get(resourceTypes.ClusterRoleBinding, mesh.name)).resolves.toBeUndefined()
  })

  it('makes the webhook of old reach the new injector, and obeys policies of old', async () => {
    await mesh.bound(shop)
    for (const name of ['server', 'server-v1', 'server-v2']) await create(resourceTypes.Service, service(shop, name))
    const pods = [
      serverPod({ namespace: shop, name: 'server-v1', serviceAccountName: 'server' }),
      clientPod({ namespace: shop, name: 'client', serviceAccountName: 'client' }),
    ]
    // OSM's MeshConfig names an Envoy that the new control plane cannot configure, until the guide's command takes it out.
    await expect(create(resourceTypes.Pod, pods[0]!)).rejects.toThrow('correct spec.sidecar.sidecarImage of MeshConfig')
    const config = { namespace: mesh.namespace, name: 'osm-mesh-config' }
    await own.client.api.mergePatch(
      resourceTypes.MeshConfig,
      config,
      { spec: { sidecar: { envoyImage: null } } },
      { signal },
    )
    for (const pod of pods) {
      const created = await eventually(
        () => create(resourceTypes.Pod, pod).catch((error: unknown) => String(error)),
        (result) => typeof result === 'object',
      )
      expect((created as unknown as Pod).metadata.labels).toHaveProperty(['osm-proxy-uuid'])
    }
    await cluster.ready(shop, ['server-v1', 'client'])
    const answer = await eventually(
      () => requestFrom(cluster.pod(shop, 'client'), `http://server-v1.${shop}/books`),
      ({ status }) => status === 200,
    )
    expect(JSON.parse(answer.body)).toMatchObject({ server: 'server-v1' })
  })

  it('stops before anything is changed where the sidecar class has no driver', async () => {
    const deployment = async (): Promise<unknown> =>
      (await get(resourceTypes.Deployment, 'osm-controller', mesh.namespace))?.metadata.generation
    const before = await deployment()
    expect(before).toBeDefined()
    const values = { sidecarClass: 'other', sidecarDrivers: [{ sidecarName: 'other', sidecarImage: 'x/other:1' }] }
    await expect(mesh.helm('upgrade', { values })).rejects.toThrow(
      'sidecar class "other" has no driver in this version',
    )
    await expect(deployment()).resolves.toBe(before)
    await expect(get(resourceTypes.MeshConfig, 'osm-mesh-config', mesh.namespace)).resolves.toMatchObject({
      spec: { sidecar: { sidecarClass: 'envoy' } },
    })
  })
})
