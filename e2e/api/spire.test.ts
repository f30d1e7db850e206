import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { WorkloadApiStandIn } from '@osm-ts/controller/testing'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { resourceTypes } from '@osm-ts/kubernetes'

import { sharedApiServer, type ApiServer } from './harness/index.js'
import {
  clientPod,
  ClusterStandIn,
  httpRouteGroup,
  InstalledMesh,
  type Pod,
  prepareImages,
  requestFrom,
  serverPod,
  service,
  trafficTarget,
} from './stand-in/index.js'

const signal = AbortSignal.timeout(600_000)
const shop = 'spire-shop'
const url = `http://server.${shop}/books`
const names = ['client', 'server', 'stranger'] as const

describe('a mesh whose pods take their certificates from the agent of their node', () => {
  let server: ApiServer
  let cluster: ClusterStandIn
  let agent: WorkloadApiStandIn
  let mesh: InstalledMesh
  const pods = new Map<string, Pod>()

  beforeAll(async () => {
    server = await sharedApiServer()
    const folder = join(server.folder, 'spire-agent')
    mkdirSync(folder)
    agent = await WorkloadApiStandIn.make(join(folder, 'spire-agent.sock'))
    agent.register(
      ...names.map((name) => ({
        spiffeId: `spiffe://cluster.local/${name}/${shop}`,
        dnsNames: [`${name}.${shop}.cluster.local`, `${name}.${shop}.svc.cluster.local`],
      })),
    )
    await agent.start()
    // As that of SPIRE: any process that has the folder may ask.
    chmodSync(folder, 0o755)
    chmodSync(agent.socketPath, 0o777)
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    mesh = await InstalledMesh.install({
      server,
      cluster,
      name: 'spire',
      values: { workloadIdentity: 'spire', spire: { enable: true, volume: 'hostPath', hostPath: folder } },
    })
    await mesh.createMonitoredNamespace(shop, names)
    await server.api.create(resourceTypes.Service, service(shop, 'server'), { signal })
    for (const name of names) {
      const manifest = (name === 'server' ? serverPod : clientPod)({ namespace: shop, name, serviceAccountName: name })
      pods.set(name, (await server.api.create(resourceTypes.Pod, manifest, { signal })) as unknown as Pod)
    }
  })

  afterAll(async () => {
    await mesh.uninstall()
    await cluster.stop()
    await agent.close()
  })

  it('has the webhook mount the socket into the sidecar alone', () => {
    const { initContainers = [], containers, volumes } = pods.get('client')?.spec ?? { containers: [] }
    expect(volumes).toContainEqual({
      name: 'osm-workload-api',
      hostPath: expect.objectContaining({ path: join(server.folder, 'spire-agent') }),
    })
    const mounting = [...initContainers, ...containers].filter(({ volumeMounts = [] }) =>
      volumeMounts.some(({ name }) => name === 'osm-workload-api'),
    )
    expect(mounting.map(({ name }) => name)).toEqual(['sidecar'])
  })

  it('mounts nothing where an annotation says mesh, and refuses what no one offers', async () => {
    const annotated = (value: string) =>
      clientPod({
        namespace: shop,
        name: 'annotated',
        serviceAccountName: 'client',
        annotations: { 'openservicemesh.io/workload-identity': value },
      })
    const { spec } = (await server.api.create(resourceTypes.Pod, annotated('mesh'), {
      signal,
      dryRun: true,
    })) as unknown as Pod
    expect(JSON.stringify(spec)).not.toContain('osm-workload-api')
    await expect(server.api.create(resourceTypes.Pod, annotated('vault'), { signal, dryRun: true })).rejects.toThrow(
      /"vault" is not one of mesh, spire/,
    )
  })

  it('lets calls through that a TrafficTarget allows, and no others', async () => {
    await cluster.ready(shop, names)
    const [client, stranger] = [cluster.pod(shop, 'client'), cluster.pod(shop, 'stranger')]
    await server.api.create(resourceTypes.HTTPRouteGroup, httpRouteGroup(shop, 'books', '/books'), { signal })
    const target = { name: 'client', source: 'client', destination: 'server', routes: 'books' }
    await server.api.create(resourceTypes.TrafficTarget, trafficTarget(shop, target), { signal })
    await eventually(
      () => requestFrom(client, url),
      ({ status }) => status === 200,
    )
    expect((await requestFrom(stranger, url)).status).not.toBe(200)
  })

  it('goes on while the agent changes its root', async () => {
    const client = cluster.pod(shop, 'client')
    await agent.prepareRoot()
    await agent.activateRoot()
    await eventually(
      () => requestFrom(client, url),
      ({ status }) => status === 200,
    )
    agent.dropFormerRoots()
    await eventually(
      () => requestFrom(client, url),
      ({ status }) => status === 200,
    )
    expect(agent.refusals).toEqual([])
  })
})
