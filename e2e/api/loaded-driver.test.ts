import { chmod, cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type KubernetesManifest, resourceTypes } from '@osm-ts/kubernetes'
import { packageIntegrity } from '@osm-ts/driver-process'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { sharedApiServer, type ApiServer } from './harness/index.js'
import { ClusterStandIn, InstalledMesh, prepareImages, type Pod } from './stand-in/index.js'

const signal = AbortSignal.timeout(300_000)
const shop = 'loaded-shop'
const examples = new URL('../../packages/driver-process/test/packages/', import.meta.url).pathname
const sidecarDrivers = ['envoy', 'failing', 'forged', 'hanging'].map((sidecarName, index) => ({
  sidecarName,
  sidecarImage: `example.test/${sidecarName}:1`,
  proxyServerPort: 15_128 + index,
}))

describe('driver packages that the chart names', () => {
  let server: ApiServer
  let cluster: ClusterStandIn
  let mesh: InstalledMesh

  /** A copy that the user of the containers may read. */
  async function packageAt(name: string): Promise<{ readonly path: string; readonly integrity: string }> {
    const path = join(server.folder, 'drivers', name)
    await cp(join(examples, name), path, { recursive: true })
    for (const folder of [server.folder, join(server.folder, 'drivers'), path]) await chmod(folder, 0o755)
    for (const file of await readdir(path)) await chmod(join(path, file), 0o644)
    return { path, integrity: await packageIntegrity(path) }
  }

  beforeAll(async () => {
    server = await sharedApiServer()
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    const failing = await packageAt('failing')
    const hangs = await packageAt('hangs-at-load')
    mesh = await InstalledMesh.install({
      server,
      cluster,
      name: 'loaded',
      values: {
        sidecarDrivers,
        enableDebugServer: true,
        driverPackages: [
          { name: 'failing', ...failing },
          { name: 'forged', ...failing, integrity: `sha512-${Buffer.alloc(64).toString('base64')}` },
          { name: 'hanging', ...hangs, failurePolicy: 'Ignore' },
        ],
      },
    })
    await mesh.createMonitoredNamespace(shop, [], { runsPods: false })
  })

  afterAll(async () => {
    await mesh.uninstall()
    await cluster.stop()
  })

  const create = async (sidecarClass: string): Promise<Pod> => {
    const manifest: KubernetesManifest = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        namespace: shop,
        name: `of-${sidecarClass}`,
        annotations: { 'openservicemesh.io/sidecar-class': sidecarClass },
      },
      spec: { serviceAccountName: 'default', containers: [{ name: 'app', image: 'localhost/nothing:v1' }] },
    }
    return (await server.api.create(resourceTypes.Pod, manifest, { signal })) as unknown as Pod
  }
  const imagesOf = ({ spec }: Pod) => [...(spec.initContainers ?? []), ...spec.containers].map(({ image }) => image)

  it('give pods their sidecars, beside those that are built in', async () => {
    expect(imagesOf(await create('failing'))).toContain('example.test/failing:1')
    expect(imagesOf(await create('envoy'))).toContain('example.test/envoy:1')
  })

  it('are refused with another digest, and pods of their class with the reason', async () => {
    await expect(create('forged')).rejects.toThrow(/whose driver is refused \(.*digest.*\[OSM_DRIVER_INTEGRITY\]/)
  })

  it('that hang keep no one out where the list says so', async () => {
    expect(imagesOf(await create('hanging'))).toEqual(['localhost/nothing:v1'])
  })

  it('are started by the controller, and the MeshConfig tells what is refused', async () => {
    const controller = cluster.pod(mesh.namespace, 'osm-controller').program('osm-controller')
    const started = /"component":"[^"]*","driver":"failing","message":"proxy control plane started"/
    await eventually(
      () => Promise.resolve(controller.log()),
      (log) => started.test(log),
      { what: 'a line of the log that says that the control plane of class failing runs' },
    )
    const name = { namespace: mesh.namespace, name: 'osm-mesh-config' }
    const config = await eventually(
      () => server.api.get(resourceTypes.MeshConfig, name, signal),
      (found) => JSON.stringify(found?.status ?? {}).includes('OSM_DRIVER_INTEGRITY'),
      { what: 'a condition of the MeshConfig that tells of the refused driver' },
    )
    expect(JSON.stringify(config?.status)).toContain('the driver of class forged is refused')
  })
})
