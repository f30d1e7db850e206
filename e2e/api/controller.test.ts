import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { programsFrom, startApiServer, type OwnApiServer } from './harness/index.js'
import { ControllerProcess, type ControllerProcessOptions } from './support/controller-process.js'
import { defineKinds } from './support/definitions.js'
import { clientMayReadBooks } from './support/client-policy.js'
import { MeshObjects } from './support/mesh-objects.js'
import { SimulatedProxy } from './support/simulated-proxy.js'

const signal = AbortSignal.timeout(400_000)
const meshName = 'ctl'
const osmNamespace = 'osm-system'
const shop = 'shop'
const meshConfig = (spec: string): string =>
  `apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: osm-mesh-config, namespace: ${osmNamespace} }\nspec: ${spec}\n`
const normal = (more = ''): string =>
  meshConfig(`{ sidecar: { sidecarClass: envoy }, observability: { enableDebugServer: true }${more} }`)
const policy = clientMayReadBooks(shop)

describe('osm-controller on an API server', () => {
  let server: OwnApiServer
  let api: KubernetesApi
  let objects: MeshObjects
  let kubeconfig: string
  let [first, second]: ControllerProcess[] = []
  let client: { readonly uuid: Awaited<ReturnType<MeshObjects['pod']>>['uuid'] }
  const proxies: SimulatedProxy[] = []

  const started = (which: ControllerProcess | undefined): ControllerProcess => {
    if (which === undefined) throw new Error('the controller was not started')
    return which
  }
  const start = (name: string, address: string, access: ControllerProcessOptions['kubeconfig'] = kubeconfig) =>
    ControllerProcess.start({
      name,
      folder: server.description.folder,
      kubeconfig: access,
      address,
      meshName,
      osmNamespace,
      flags: ['--verbosity=debug'],
    })
  const asClient = (controller: ControllerProcess) => ({
    api,
    osmNamespace,
    target: `${controller.address}:15128`,
    uuid: client.uuid,
    account: { namespace: shop, name: 'client' },
    signal,
  })
  const connect = async (controller: ControllerProcess): Promise<SimulatedProxy> => {
    const proxy = await SimulatedProxy.connect(asClient(controller))
    proxies.push(proxy)
    return proxy
  }
  const routes = (proxy: SimulatedProxy): readonly string[] =>
    proxy.names.filter((name) => name.includes('RouteConfiguration'))
  const serverClusters = (proxy: SimulatedProxy): readonly string[] =>
    proxy.names.filter((name) => name.includes('Cluster ') && name.includes('shop/server'))

  beforeAll(async () => {
    server = await startApiServer(programsFrom(process.env), signal)
    api = server.client.api
    objects = new MeshObjects(api, signal)
    await objects.namespace(osmNamespace, {})
    await objects.controllerAccount(osmNamespace)
    kubeconfig = await server.client.kubeconfigFor({ namespace: osmNamespace, name: 'osm-controller' })
  })

  afterAll(async () => {
    for (const proxy of proxies) proxy.close()
    await first?.program.stop()
    await second?.program.stop()
    await server.stop()
  })

  it('is alive and not ready while there are no CRDs and no MeshConfig, and becomes ready with them', async () => {
    first = await start('first', '127.0.0.21')
    const controller = started(first)
    await eventually(
      () => controller.health('alive'),
      (status) => status === 200,
    )
    await eventually(
      () => controller.program.log(),
      (log) => log.includes('there is no MeshConfig yet'),
    )
    await expect(controller.health('ready')).resolves.toBe(503)
    await defineKinds(api, signal)
    await expect(controller.health('ready')).resolves.toBe(503)
    await objects.apply(normal())
    await controller.untilReady(90_000)
    await expect(controller.health('alive')).resolves.toBe(200)
  })

  it('takes less than 120 MB in a pod while it has nothing to do', async () => {
    const folder = join(server.description.folder, 'account')
    mkdirSync(folder)
    writeFileSync(
      join(folder, 'token'),
      await server.client.tokenFor({ namespace: osmNamespace, name: 'osm-controller' }),
    )
    writeFileSync(join(folder, 'ca.crt'), server.description.caPem)
    const { hostname, port } = new URL(server.description.url)
    const controller = await start('idle', '127.0.0.23', { folder, host: hostname, port: Number(port) })
    try {
      await controller.untilReady()
      const megabytes = (): number => {
        const status = readFileSync(`/proc/${String(controller.program.pid)}/status`, 'utf8')
        return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024
      }
      // What starting took is given back when V8 collects next: it waits until little is allocated, which depends on the machine, but for no
      // longer than a hundred seconds.
      await eventually(megabytes, (size) => size < 120, { everyMs: 1000 })
    } finally {
      await controller.program.stop()
    }
  })

  it('brings services and policy to proxies', async () => {
    await objects.namespace(shop, { 'openservicemesh.io/monitored-by': meshName })
    client = await objects.pod({ namespace: shop, name: 'client', account: 'client', address: '10.9.0.1', meshName })
    const pod = { namespace: shop, name: 'server', account: 'server', address: '10.9.0.2', meshName }
    await objects.pod(pod)
    await objects.service(shop, 'server', [pod])
    await eventually(
      () => started(first).debugJson<{ readonly proxies: readonly unknown[] }>('/debug/status'),
      (answer) => answer.proxies.length === 2,
    )
    const proxy = await connect(started(first))
    await eventually(
      () => proxy.names.length,
      (count) => count > 0,
    )
    expect(serverClusters(proxy)).toEqual([])
    await objects.apply(policy)
    await eventually(
      () => [serverClusters(proxy).length, routes(proxy).length],
      ([clusters = 0, routed = 0]) => clusters > 0 && routed > 0,
    )
    expect(proxy.error).toBeUndefined()
  })

  it('gives proxies the same whichever replica they ask, under one authority', async () => {
    second = await start('second', '127.0.0.22')
    const [one, two] = [started(first), started(second)]
    await two.untilReady()
    const page = `/debug/policy?uuid=${client.uuid}`
    const document = await one.debug(page)
    expect(document.status).toBe(200)
    await eventually(
      () => two.debug(page),
      ({ body }) => body === document.body,
    )
    const fromFirst = proxies[0]
    const fromSecond = await connect(two)
    await eventually(
      () => fromSecond.versions,
      (versions) => versions.length === fromFirst?.versions.length,
    )
    expect(fromSecond.versions).toEqual(fromFirst?.versions)
    const roots = async (controller: ControllerProcess): Promise<unknown> =>
      (await controller.debugJson<{ readonly roots: unknown }>('/debug/certs')).roots
    await expect(roots(two)).resolves.toEqual(await roots(one))
    fromSecond.close()
  })

  it('has one leader among its replicas', async () => {
    const leaders = await Promise.all([started(first), started(second)].map((it) => it.metric('osm_leader')))
    expect(leaders).toEqual([1, 0])
  })

  it('does nothing at all when what is written changes nothing', async () => {
    const counters = async () => {
      const controller = started(first)
      return {
        recomputations: await controller.metric('osm_policy_recompute_seconds_count'),
        policies: await controller.metric('osm_policy_recomputed_count'),
        pushes: await controller.metric('osm_proxy_response_send_success_count'),
        statuses: await controller.metric('osm_status_write_count'),
      }
    }
    /** Statuses are written up to a second after what they tell of. */
    const settledCounters = async () => {
      let last = await counters()
      const isSettled = async (): Promise<boolean> => {
        const before = last
        await pause(3000)
        last = await counters()
        return JSON.stringify(before) === JSON.stringify(last)
      }
      await eventually(isSettled, (settled) => settled)
      return last
    }
    // What the tests before wrote has to settle first.
    const before = await settledCounters()
    for (let round = 0; round < 60; round += 1) {
      const annotations = { 'example.com/round': String(round) }
      await api.mergePatch(
        resourceTypes.Pod,
        { namespace: shop, name: 'server' },
        { metadata: { annotations } },
        { signal },
      )
      await api.mergePatch(
        resourceTypes.Pod,
        { namespace: shop, name: 'client' },
        { status: { message: `round ${String(round)}` } },
        { signal, subresource: 'status' },
      )
      await objects.apply(policy)
    }
    expect(await settledCounters()).toEqual(before)
    // Something that counts, so that all before it has been seen.
    await objects.apply(normal(', traffic: { enableEgress: true }'))
    await eventually(
      () => counters(),
      ({ recomputations }) => recomputations > before.recomputations,
    )
    const { recomputations } = await counters()
    expect(recomputations).toBe(before.recomputations + 1)
    await objects.apply(normal())
  })

  it('serves debug pages while MeshConfig says so', async () => {
    const controller = started(second)
    for (const on of [false, true, false, true]) {
      await objects.apply(normal().replace('enableDebugServer: true', `enableDebugServer: ${String(on)}`))
      await eventually(
        async () => (await controller.debug('/debug')).status,
        (status) => status === (on ? 200 : 0),
      )
    }
  })

  it('keeps what a restart only can change, says so in the status, and survives a MeshConfig that is deleted', async () => {
    const otherPort = 'sidecarDrivers: [{ sidecarName: envoy, proxyServerPort: 15999 }]'
    await objects.apply(normal().replace('sidecarClass: envoy', `sidecarClass: envoy, ${otherPort}`))
    const condition = async (): Promise<string | undefined> => {
      const config = await api.get(
        resourceTypes.MeshConfig,
        { namespace: osmNamespace, name: 'osm-mesh-config' },
        signal,
      )
      const { conditions = [] } = (config?.status ?? {}) as {
        readonly conditions?: readonly { readonly type: string; readonly status: string }[]
      }
      return conditions.find(({ type }) => type === 'RestartRequired')?.status
    }
    await eventually(condition, (status) => status === 'True')
    const before = (await started(second).debug('/debug/config')).body
    await objects.remove('MeshConfig', osmNamespace, 'osm-mesh-config')
    await eventually(
      async () => (await started(second).debug('/debug/problems')).body,
      (body) => body.includes('OSM_CONFIG_ABSENT'),
    )
    await expect(started(second).debug('/debug/config')).resolves.toMatchObject({ body: before })
    await expect(started(second).health('ready')).resolves.toBe(200)
    await objects.apply(normal())
    await eventually(condition, (status) => status === 'False')
  })

  it('serves proxies while the API server is away, stays ready, and catches up after it', async () => {
    const controller = started(first)
    const late = await SimulatedProxy.prepare(asClient(started(second)))
    await server.pause()
    try {
      // Longer than the lease: no one leads now.
      await eventually(
        () => controller.metric('osm_leader'),
        (leads) => leads === 0,
      )
      await expect(controller.health('ready')).resolves.toBe(200)
      await expect(controller.health('alive')).resolves.toBe(200)
      expect(proxies[0]?.error).toBeUndefined()
      // A sidecar that comes now, as after a restart of its container, is served from what was read.
      const newcomer = late()
      await eventually(
        () => serverClusters(newcomer).length,
        (count) => count > 0,
      )
      newcomer.close()
    } finally {
      server.resume()
    }
    await objects.remove('TrafficTarget', shop, 'client-to-server')
    const old = proxies[0]
    if (old === undefined) throw new Error('no proxy')
    await eventually(
      () => serverClusters(old).length,
      (count) => count === 0,
    )
    await objects.apply(policy)
    await eventually(
      () => serverClusters(old).length,
      (count) => count > 0,
    )
  })

  it('serves proxies with a revoked token, and goes on when it is given another', async () => {
    await objects.remove('ServiceAccount', osmNamespace, 'osm-controller')
    await server.restart(signal)
    const controller = started(first)
    await eventually(
      () => controller.program.log(),
      (log) => log.includes('401'),
    )
    await expect(controller.health('ready')).resolves.toBe(200)
    await expect(controller.health('alive')).resolves.toBe(200)
    expect(controller.program.log()).not.toMatch(/PRIVATE KEY|"token":"[^[]/)
    await objects.apply(
      `apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: osm-controller, namespace: ${osmNamespace} }\n`,
    )
    const fresh = await server.client.kubeconfigFor({ namespace: osmNamespace, name: 'osm-controller' })
    writeFileSync(kubeconfig, readFileSync(fresh))
    const proxy = proxies[0]
    if (proxy === undefined) throw new Error('no proxy')
    await objects.remove('TrafficTarget', shop, 'client-to-server')
    await eventually(
      () => serverClusters(proxy).length,
      (count) => count === 0,
    )
    await objects.apply(policy)
  })

  it('hands leadership on when the leader is killed, and proxies to the other replica', async () => {
    const all = [started(first), started(second)]
    const leader = await eventually(
      async () => (await Promise.all(all.map((it) => it.metric('osm_leader')))).indexOf(1),
      (index) => index >= 0,
    )
    const [killed, heir] = leader === 0 ? all : [...all].reverse()
    await started(killed).program.kill()
    const proxy = await connect(started(heir))
    await eventually(
      () => serverClusters(proxy).length,
      (count) => count > 0,
    )
    await eventually(
      () => started(heir).metric('osm_leader'),
      (leads) => leads === 1,
    )
    const namespace = 'late'
    await objects.namespace(namespace, { 'openservicemesh.io/monitored-by': meshName })
    await eventually(
      () => api.get(resourceTypes.RoleBinding, { namespace, name: `osm-${meshName}-bootstrap-secrets` }, signal),
      (binding) => binding !== undefined,
    )
  })

  it('ends its streams before it ends', async () => {
    const heir = [started(first), started(second)].find(({ program }) => program.isRunning)
    const proxy = proxies.at(-1)
    heir?.program.signal('SIGTERM')
    await expect(heir?.program.ended).resolves.toBe('exit code 0')
    expect(proxy?.error?.message).toContain('UNAVAILABLE')
  })
})
