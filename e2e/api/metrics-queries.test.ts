import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { prometheusTraffic } from '@osm-ts/cli/testing'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { resourceTypes } from '@osm-ts/kubernetes'
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
  type RunningPod,
} from './stand-in/index.js'
import { chartConfiguration, RunningPrometheus } from './support/prometheus.js'
import { alertQueries, dashboardFiles, dashboardQueries, recordingQueries } from './support/queries.js'

const signal = AbortSignal.timeout(600_000)
const shop = 'queries-shop'
const meshed = ['server', 'client'] as const
/** No load may reach it. */
const WAIT_MS = 120_000

describe('the expressions of dashboards, rules and alerts, on a real Prometheus', () => {
  let server: ApiServer
  let cluster: ClusterStandIn
  let mesh: InstalledMesh
  let prometheus: RunningPrometheus | undefined
  let traffic: Promise<void> | undefined
  const ending = new AbortController()

  beforeAll(async () => {
    server = await sharedApiServer()
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    const values = { featureFlags: { enableWASMStats: true } }
    mesh = await InstalledMesh.install({ server, cluster, name: 'queries', values })
    await cluster.createNamespace(shop, {
      labels: { 'openservicemesh.io/monitored-by': mesh.name },
      annotations: { 'openservicemesh.io/sidecar-injection': 'enabled', 'openservicemesh.io/metrics': 'enabled' },
    })
    for (const name of meshed) await cluster.createServiceAccount(shop, name)
    await mesh.bound(shop)
    await server.api.create(resourceTypes.Service, service(shop, 'server'), { signal })
    await server.api.create(resourceTypes.HTTPRouteGroup, httpRouteGroup(shop, 'books', '/books'), { signal })
    const target = { name: 'books', source: 'client', destination: 'server', routes: 'books' }
    await server.api.create(resourceTypes.TrafficTarget, trafficTarget(shop, target), { signal })
    for (const name of meshed) {
      const { metadata, spec } = (name === 'server' ? serverPod : clientPod)({
        namespace: shop,
        name,
        serviceAccountName: name,
      })
      const { labels } = metadata
      const manifest = {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { namespace: shop, name },
        spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
      }
      await server.api.create(resourceTypes.Deployment, manifest, { signal })
    }
    await eventually(
      () => cluster.pods(shop).filter(({ isReady }) => isReady),
      ({ length }) => length === meshed.length,
      { timeoutMs: WAIT_MS, what: 'pods with sidecars' },
    )
    const client = cluster.pod(shop, 'client')
    traffic = keepBusy(client)
    prometheus = await RunningPrometheus.start(join(server.folder, 'queries-prometheus'), await configuration())
  })

  afterAll(async () => {
    ending.abort()
    await traffic
    await prometheus?.stop()
    await mesh.uninstall()
    await cluster.stop()
  })

  /** Sends requests, changes what policy allows, and has pods reviewed, until the tests are over. */
  async function keepBusy(client: RunningPod): Promise<void> {
    const routes = { namespace: shop, name: 'books' }
    const reviewed = clientPod({ namespace: shop, name: 'reviewed', serviceAccountName: 'client' })
    for (let round = 0; !ending.signal.aborted; round += 1) {
      await requestFrom(client, `http://server.${shop}/books`)
      const methods = round % 2 === 0 ? ['GET'] : ['GET', 'HEAD']
      const spec = { matches: [{ name: 'all', pathRegex: '/books', methods }] }
      await server.api.mergePatch(resourceTypes.HTTPRouteGroup, routes, { spec }, { signal })
      await server.api.create(resourceTypes.Pod, reviewed, { signal, dryRun: true })
      await sleep(500)
    }
  }

  async function configuration(): Promise<object> {
    const pods = await Promise.all(
      [mesh.namespace, shop].map(
        async (namespace) => (await server.api.list(resourceTypes.Pod, { namespace }, signal)).items,
      ),
    )
    return chartConfiguration(mesh, pods.flat() as unknown as Pod[])
  }

  it('has the control plane and the sidecars scraped by the configuration of the chart', async () => {
    const targets = await eventually(
      async () =>
        (await prometheus?.get<{ readonly activeTargets: readonly ScrapedTarget[] }>('targets'))?.activeTargets ?? [],
      (found) => found.length > 0 && found.every(({ health }) => health === 'up'),
      { timeoutMs: WAIT_MS, what: 'targets that are up' },
    )
    expect(targets.map(({ labels }) => labels['source_service']).sort()).toEqual([
      'client',
      'osm-bootstrap',
      'osm-controller',
      'osm-injector',
      'server',
    ])
    expect(targets.find(({ labels }) => labels['source_service'] === 'client')?.labels).toMatchObject({
      source_namespace: shop,
      source_pod_name: cluster.pod(shop, 'client').name,
      source_workload_kind: 'Deployment',
      source_workload_name: 'client',
    })
  })

  it.each(dashboardFiles)('finds series for every panel and variable of %s', async (file) => {
    const queries = dashboardQueries(file)
    expect(queries).not.toEqual([])
    expect(await prometheus?.withoutSeries(queries)).toEqual([])
  })

  it.each([
    ['recording rule', recordingQueries()],
    ['alert', alertQueries()],
  ])('finds series for what every %s looks at', async (_what, queries) => {
    expect(queries).not.toEqual([])
    expect(await prometheus?.withoutSeries(queries)).toEqual([])
  })

  it('gives osm dashboard the traffic of the mesh', async () => {
    const read = await prometheusTraffic(new URL(prometheus?.url ?? ''), signal)
    const proxies = meshed.map((name) => ({
      name: `${shop}/${cluster.pod(shop, name).name}`,
      identity: `${name}.${shop}`,
    }))
    const edges = await eventually(
      () => read(proxies),
      (found) => found.some(({ p99Ms }) => p99Ms !== undefined),
      { timeoutMs: WAIT_MS, what: 'traffic with durations' },
    )
    const [perSecond, success, p99Ms] = [expect.any(Number), expect.any(Number), expect.any(Number)] as const
    expect(edges).toEqual([
      { from: `workload ${shop}/client`, to: `service ${shop}/server`, perSecond, success, p99Ms },
    ])
  })

  it('raises no alert on a mesh that works', async () => {
    const data = await prometheus?.get<{ readonly alerts: readonly unknown[] }>('alerts')
    expect(data?.alerts).toEqual([])
  })
})

interface ScrapedTarget {
  readonly health: string
  readonly labels: Readonly<Record<string, string>>
}
