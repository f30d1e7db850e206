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
  type Pod,
} from './stand-in/index.js'

const signal = AbortSignal.timeout(300_000)
const shop = 'install-shop'
const url = `http://server.${shop}/books`
const meshed = ['server', 'client', 'stranger'] as const

describe('a mesh that helm has installed', () => {
  let server: ApiServer
  let cluster: ClusterStandIn
  let mesh: InstalledMesh
  const pods = new Map<string, Pod>()

  const create = (type: ResourceType, manifest: KubernetesManifest): Promise<KubernetesObject> =>
    server.api.create(type, manifest, { signal })

  beforeAll(async () => {
    server = await sharedApiServer()
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    mesh = await InstalledMesh.install({ server, cluster, name: 'install' })
    await mesh.createMonitoredNamespace(shop, meshed)
    await create(resourceTypes.Service, service(shop, 'server'))
    for (const name of meshed) {
      const manifest = (name === 'server' ? serverPod : clientPod)({ namespace: shop, name, serviceAccountName: name })
      pods.set(name, (await create(resourceTypes.Pod, manifest)) as unknown as Pod)
    }
  })

  afterAll(async () => {
    await mesh.uninstall()
    await cluster.stop()
  })

  it('has its CRDs, its configuration, and webhooks with the root that verifies them', async () => {
    for (const name of ['meshconfigs.config.openservicemesh.io', 'traffictargets.access.smi-spec.io'])
      await expect(
        server.api.get(resourceTypes.CustomResourceDefinition, { namespace: '', name }, signal),
      ).resolves.toBeDefined()
    const config = { namespace: mesh.namespace, name: 'osm-mesh-config' }
    await expect(server.api.get(resourceTypes.MeshConfig, config, signal)).resolves.toMatchObject({
      spec: { sidecar: { sidecarClass: 'envoy' }, traffic: { enablePermissiveTrafficPolicyMode: false } },
    })
    for (const [type, name] of [
      [resourceTypes.MutatingWebhookConfiguration, 'osm-webhook-install'],
      [resourceTypes.ValidatingWebhookConfiguration, 'osm-validator-mesh-install'],
    ] as const) {
      const configuration = await server.api.get(type, { namespace: '', name }, signal)
      const { webhooks } = configuration as unknown as {
        readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[]
      }
      expect(webhooks.map(({ clientConfig }) => Buffer.from(clientConfig.caBundle ?? '', 'base64').toString())).toEqual(
        webhooks.map(() => expect.stringContaining('BEGIN CERTIFICATE')),
      )
    }
  })

  it('gives pods a sidecar when they are created', async () => {
    const pod = pods.get('client')
    const uuid = pod?.metadata.labels?.['osm-proxy-uuid'] ?? ''
    const names = [...(pod?.spec.initContainers ?? []), ...(pod?.spec.containers ?? [])].map(({ name }) => name)
    expect(new Set(names)).toEqual(new Set(['osm-init', 'sidecar', 'app']))
    const secret = { namespace: shop, name: `sidecar-bootstrap-config-${uuid}` }
    const stored = await server.api.get(resourceTypes.Secret, secret, signal)
    expect(Object.keys(stored?.data ?? {})).toContain('bootstrap.yaml')
    expect(pod?.spec.volumes).toContainEqual(
      expect.objectContaining({ secret: expect.objectContaining({ secretName: secret.name }) }),
    )
  })

  it('has the API server start the sidecar before the application, as this version can', () => {
    const sidecar = pods.get('client')?.spec.initContainers?.find(({ name }) => name === 'sidecar')
    expect(sidecar?.restartPolicy).toBe('Always')
  })

  it('tells the sidecars what its policies say, which then allow and deny accordingly', async () => {
    await cluster.ready(shop, meshed)
    const [client, stranger] = [cluster.pod(shop, 'client'), cluster.pod(shop, 'stranger')]
    expect((await requestFrom(client, url)).status).not.toBe(200)

    const routes = await create(resourceTypes.HTTPRouteGroup, httpRouteGroup(shop, 'books', '/books'))
    expect(routes.metadata.name).toBe('books')
    const target = trafficTarget(shop, {
      name: 'client-to-server',
      source: 'client',
      destination: 'server',
      routes: 'books',
    })
    await create(resourceTypes.TrafficTarget, target)
    const allowed = await eventually(
      () => requestFrom(client, url),
      ({ status }) => status === 200,
    )
    expect(JSON.parse(allowed.body)).toMatchObject({ server: 'server', path: '/books' })
    expect((await requestFrom(stranger, url)).status).not.toBe(200)

    await server.api.delete(resourceTypes.TrafficTarget, { namespace: shop, name: 'client-to-server' }, { signal })
    await eventually(
      () => requestFrom(client, url),
      ({ status }) => status !== 200,
    )
  })
})
