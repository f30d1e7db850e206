import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { resourceTypes } from '@osm-ts/kubernetes'
import { sharedApiServer, type ApiServer } from './harness/index.js'
import {
  ClusterStandIn,
  InstalledMesh,
  clientPod,
  prepareImages,
  service,
  trafficTarget,
  type Pod,
} from './stand-in/index.js'

const signal = AbortSignal.timeout(300_000)
const monitored = 'down-monitored'
const unmonitored = 'down-unmonitored'

describe('while webhooks cannot be reached', () => {
  let server: ApiServer
  let cluster: ClusterStandIn
  let mesh: InstalledMesh

  /** Nothing is stored, but all webhooks are asked. */
  const tryPod = async (namespace: string): Promise<Pod> => {
    const manifest = clientPod({ namespace, name: 'trial' })
    return (await server.api.create(resourceTypes.Pod, manifest, { signal, dryRun: true })) as unknown as Pod
  }
  const tryTarget = (namespace: string): Promise<unknown> => {
    const target = trafficTarget(namespace, { name: 'trial', source: 'a', destination: 'b', routes: 'c' })
    return server.api.create(resourceTypes.TrafficTarget, target, { signal, dryRun: true })
  }

  beforeAll(async () => {
    server = await sharedApiServer()
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    mesh = await InstalledMesh.install({ server, cluster, name: 'down' })
    await mesh.createMonitoredNamespace(monitored)
    await cluster.createNamespace(unmonitored)
    // The controller manager, which is not here, makes this account.
    await cluster.createServiceAccount('kube-system', 'default').catch(() => undefined)
    await mesh.scale('osm-injector', 0)
  })

  afterAll(async () => {
    await mesh.uninstall()
    await cluster.stop()
  })

  it.each(['kube-system', 'down-system', unmonitored])('pods of %s are created without them', async (namespace) => {
    const pod = await tryPod(namespace)
    expect(pod.spec.containers.map(({ name }) => name)).toEqual(['app'])
    expect(pod.spec.initContainers).toBeUndefined()
  })

  it('no pod of a monitored namespace slips by without its sidecar', async () => {
    await expect(tryPod(monitored)).rejects.toThrow('osm-inject.k8s.io')
  })

  it('pods of a monitored namespace get theirs as soon as the injector is back', async () => {
    await mesh.scale('osm-injector', 1)
    const pod = await tryPod(monitored)
    expect([...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(({ name }) => name)).toContain('sidecar')
  })

  it('policies of other namespaces are stored, those of a monitored one wait for the controller, all else does not', async () => {
    await mesh.scale('osm-controller', 0)
    await expect(tryTarget(unmonitored)).resolves.toBeDefined()
    await expect(tryTarget(monitored)).rejects.toThrow('osm-validator.k8s.io')
    const other = service(monitored, 'trial')
    await expect(server.api.create(resourceTypes.Service, other, { signal, dryRun: true })).resolves.toBeDefined()
    await mesh.scale('osm-controller', 1)
    await expect(tryTarget(monitored)).resolves.toBeDefined()
  })
})
