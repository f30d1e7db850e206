import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type KubernetesManifest, type KubernetesObject, type ResourceType, resourceTypes } from '@osm-ts/kubernetes'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { haproxyBinary } from '../dataplane/support/haproxy-package.js'
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
import { installHaproxyDriver } from './support/installed-driver.js'
import { chartConfiguration, RunningPrometheus } from './support/prometheus.js'
import { dashboardQueries, type Query, recordingQueries } from './support/queries.js'

const signal = AbortSignal.timeout(600_000)
const shop = 'haproxy-shop'
const url = `http://server.${shop}/books`
const names = ['server', 'client', 'stranger'] as const
const image = 'example.test/osm-haproxy:1'
/** Against hanging only. */
const silenceMs = 20_000

// Nothing of the driver is built into the programs: they are told of a folder that npm has filled.
describe('a mesh of a class whose driver was installed by its name', () => {
  let server: ApiServer
  let cluster: ClusterStandIn
  let mesh: InstalledMesh
  const pods = new Map<string, Pod>()

  const create = (type: ResourceType, manifest: KubernetesManifest): Promise<KubernetesObject> =>
    server.api.create(type, manifest, { signal })
  const addressOf = (name: string) => cluster.pod(shop, name).workload?.address ?? ''
  const ask = async (name: string, port: number, path: string) =>
    fetch(`http://${addressOf(name)}:${String(port)}${path}`, { signal: AbortSignal.timeout(silenceMs) })

  beforeAll(async () => {
    server = await sharedApiServer()
    const driver = await installHaproxyDriver(join(server.folder, 'haproxy'))
    await chmod(server.folder, 0o755)
    const images = prepareImages(server.folder, process.env)
    const [node = process.execPath] = images.idle ?? []
    const haproxy = ['env', `OSM_HAPROXY_BINARY=${haproxyBinary()}`, node, driver.sidecar] as const
    cluster = await ClusterStandIn.start({ server, images: { ...images, 'osm-haproxy': haproxy } }, signal)
    const { path, integrity } = driver
    mesh = await InstalledMesh.install({
      server,
      cluster,
      name: 'haproxy',
      values: {
        sidecarClass: 'haproxy',
        sidecarDrivers: [{ sidecarName: 'haproxy', sidecarImage: image, proxyServerPort: 15_128 }],
        driverPackages: [{ name: 'haproxy', path, integrity }],
      },
    })
    await mesh.createMonitoredNamespace(shop, names, { isScraped: true })
    await create(resourceTypes.Service, service(shop, 'server'))
    for (const name of names) {
      const manifest = (name === 'server' ? serverPod : clientPod)({ namespace: shop, name, serviceAccountName: name })
      if (name === 'server') Object.assign(manifest.spec.containers[0] ?? {}, probes)
      pods.set(name, (await create(resourceTypes.Pod, manifest)) as unknown as Pod)
    }
    await cluster.ready(shop, names)
  }, 480_000)

  afterAll(async () => {
    await mesh.uninstall()
    await cluster.stop()
  })

  it('has the webhook put its sidecar beside workloads, in a form that the API server takes', () => {
    const { initContainers = [], containers = [] } = pods.get('client')?.spec ?? {}
    const sidecar = [...initContainers, ...containers].find(({ name }) => name === 'sidecar')
    expect(sidecar).toMatchObject({ image, command: ['osm-haproxy-sidecar'], securityContext: { runAsUser: 1500 } })
    expect(initContainers.map(({ name }) => name)).toContain('osm-init')
  })

  it('lets through what policies allow, and answers everything else 403 or not at all', async () => {
    const [client, stranger] = [cluster.pod(shop, 'client'), cluster.pod(shop, 'stranger')]
    expect((await requestFrom(client, url)).status).not.toBe(200)
    await create(resourceTypes.HTTPRouteGroup, httpRouteGroup(shop, 'books', '/books'))
    const [name, source, destination, routes] = ['client-to-server', 'client', 'server', 'books'] as const
    await create(resourceTypes.TrafficTarget, trafficTarget(shop, { name, source, destination, routes }))
    const allowed = await eventually(
      () => requestFrom(client, url),
      ({ status }) => status === 200,
    )
    expect(JSON.parse(allowed.body)).toMatchObject({ server: 'server', path: '/books' })
    expect((await requestFrom(client, `${url}/of/others`)).status).toBe(403)
    expect((await requestFrom(stranger, url)).status).not.toBe(200)
    expect((await requestFrom(client, `http://server.${shop}:81/`)).status).toBe(0)
  })

  it('shows a certificate of the mesh to anyone who comes, and answers no one who has none', async () => {
    const address = addressOf('server')
    await expect(ask('server', 8080, '/books')).rejects.toThrow()
    const bare = connect({
      host: address,
      port: 8080,
      servername: `server.${shop}.svc.cluster.local`,
      rejectUnauthorized: false,
    })
    bare.setTimeout(silenceMs, () => bare.destroy())
    let subject = ''
    let answer = ''
    bare.once('secureConnect', () => {
      subject = String(bare.getPeerCertificate().subject.CN)
      bare.write('GET /books HTTP/1.1\r\nhost: server\r\n\r\n')
    })
    bare.on('data', (data: Buffer) => (answer += data.toString()))
    await new Promise((resolve) => bare.on('error', () => undefined).once('close', resolve))
    expect({ subject, answer }).toEqual({ subject: `server.${shop}.cluster.local`, answer: '' })
  })

  it('answers probes for the workload, and who counts', async () => {
    // The pod is ready, which its own probe has told the kubelet; the others are the sidecar's as well.
    expect((await ask('server', 15_902, '/osm-readiness-probe')).status).toBe(200)
    const failed = await ask('server', 15_901, '/osm-liveness-probe')
    expect([failed.status, await failed.text()]).toEqual([503, 'not connected'])
    const metrics = await ask('server', 15_010, '/stats/prometheus')
    expect(await metrics.text()).toContain('haproxy_process_uptime_seconds')
  })

  it('has series in every rule of the chart, and in the panels that read them, but those of durations', async () => {
    const client = cluster.pod(shop, 'client')
    const ending = new AbortController()
    const traffic = (async () => {
      while (!ending.signal.aborted) {
        await requestFrom(client, url)
        await sleep(200)
      }
    })()
    const { items } = await server.api.list(resourceTypes.Pod, { namespace: shop }, signal)
    const config = chartConfiguration(mesh, items as unknown as Pod[])
    const prometheus = await RunningPrometheus.start(join(server.folder, 'haproxy-prometheus'), config)
    try {
      const files = ['osm-pod-to-service.json', 'osm-service-to-service.json']
      const queries = [recordingQueries(), ...files.map(dashboardQueries)].flat().filter(measures)
      expect(await prometheus.withoutSeries(queries)).toEqual([])
      const upstreams = await prometheus.get<{ readonly result: readonly { readonly metric: object }[] }>(
        `query?query=${encodeURIComponent('sum by (source_pod_name, upstream) (pod_upstream:osm_requests:rate1m > 0)')}`,
      )
      expect(upstreams?.result.map(({ metric }) => metric)).toEqual([
        { source_pod_name: 'client', upstream: `${shop}/server|8080` },
      ])
    } finally {
      ending.abort()
      await traffic
      await prometheus.stop()
    }
  })

  it('refuses a caller when its policy is deleted', async () => {
    await server.api.delete(resourceTypes.TrafficTarget, { namespace: shop, name: 'client-to-server' }, { signal })
    await eventually(
      () => requestFrom(cluster.pod(shop, 'client'), url),
      ({ status }) => status !== 200,
    )
  })
})

/** HAProxy measures no durations that quantiles can be made of. */
const measures = ([place, expression]: Query): boolean => !`${place} ${expression}`.includes('duration')

/** One that holds, and one that does not: no one listens on that port. */
const probes = {
  readinessProbe: { httpGet: { path: '/books', port: 8080 } },
  livenessProbe: { tcpSocket: { port: 4711 } },
}
