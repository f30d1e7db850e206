import { X509Certificate } from 'node:crypto'

import { afterEach, describe, expect, it } from '@jest/globals'
import {
  defaultCertificateSettings,
  issueLeaf,
  MemoryCaStore,
  MeshCertificateManager,
  Metrics,
  newProxyUUID,
  systemClock,
  TresorProvider,
} from '@osm-ts/core'
import type { Eviction, ProxyRef, ProxyUUID } from '@osm-ts/driver-api'
import type { PolicyUpdate } from '@osm-ts/driver-api/policy'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { base, domains, silent, TextSource } from '../test/controller-fixture.js'
import { type StartedDriver, startedDriver } from '../test/started-driver.js'
import type { RunningController } from './options.js'
import { startController } from './start-controller.js'

const service = (name: string): string => `
apiVersion: v1
kind: Service
metadata: { name: ${name}, namespace: shop }
spec: { selector: { app: store }, ports: [{ port: 80, targetPort: 8080 }] }
`
const instance = (uuid: ProxyUUID, account: string, sidecarClass = 'fake'): string => `
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: WorkloadInstance
metadata: { name: ${account}-0, namespace: shop, labels: { app: ${account} } }
spec:
  uuid: ${uuid}
  workload: ${account}
  serviceAccountName: ${account}
  sidecarClass: ${sidecarClass}
  mode: transparent
  addresses: [10.0.0.1]
  ports: [{ port: 8080 }]
  ready: true
  createdAt: "2026-01-01T00:00:00Z"
`
const target = (from: string): string => `
apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: { name: store, namespace: shop }
spec:
  destination: { kind: ServiceAccount, name: store, namespace: shop }
  rules: [{ kind: HTTPRouteGroup, name: all }]
  sources: [{ kind: ServiceAccount, name: ${from}, namespace: shop }]
---
apiVersion: specs.smi-spec.io/v1alpha4
kind: HTTPRouteGroup
metadata: { name: all, namespace: shop }
spec: { matches: [{ name: any, pathRegex: "/.*" }] }
`

describe('startController', () => {
  const ends: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const end of ends.splice(0)) await end()
  })

  interface Running {
    readonly source: TextSource
    readonly fake: StartedDriver
    readonly controller: RunningController
    readonly signal: AbortSignal
    /** DER of a proxy certificate. */
    readonly proxyCertificate: (uuid: ProxyUUID, account: string) => Promise<Uint8Array>
    readonly provider: TresorProvider
  }

  async function start(yaml: string, ...others: StartedDriver[]): Promise<Running> {
    const abort = new AbortController()
    const source = new TextSource()
    source.put(yaml)
    const fake = startedDriver('fake')
    const provider = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
    const controller = await startController({
      ...base,
      sources: [source],
      certificateProvider: provider,
      drivers: [fake.driver, ...others.map(({ driver }) => driver)],
      metrics: new Metrics(),
      logger: silent(),
      signal: abort.signal,
    })
    ends.push(async () => {
      abort.abort()
      await controller.stopped
      provider.close()
    })
    const issuer = new MeshCertificateManager({
      provider,
      settings: () => defaultCertificateSettings,
      domains,
      clock: systemClock,
      random: Math.random,
      signal: abort.signal,
    })
    const proxyCertificate = async (uuid: ProxyUUID, account: string): Promise<Uint8Array> => {
      const certificate = await issuer.issueCertificate(
        { kind: 'proxy', uuid, serviceAccount: { namespace: 'shop', name: account } },
        { keep: false },
      )
      return new X509Certificate(certificate.chain).raw
    }
    return { source, fake, controller, signal: abort.signal, proxyCertificate, provider }
  }

  const get = async (
    port: number | undefined,
    path: string,
  ): Promise<{ readonly status: number; readonly body: string }> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    return { status: response.status, body: await response.text() }
  }

  async function connect(
    running: Running,
    uuid: ProxyUUID,
    account: string,
    driver = running.fake,
  ): Promise<{ readonly proxy: ProxyRef; readonly next: () => Promise<PolicyUpdate> }> {
    const context = driver.context()
    const proxy = await context.proxies.authenticate(await running.proxyCertificate(uuid, account))
    // As a driver does whose streams end with the controller.
    running.signal.addEventListener('abort', () => void context.proxies.disconnected(proxy.session))
    const steps = context.meshCatalog.policies.watch(proxy, running.signal)[Symbol.asyncIterator]()
    return {
      proxy,
      next: async () => {
        const step = await steps.next()
        if (step.done === true) throw new Error('the policy stream has ended')
        return step.value
      },
    }
  }

  it('gives endpoints apart from policies to a driver that follows them, and in policies to others', async () => {
    const [store, client, caller] = [newProxyUUID(), newProxyUUID(), newProxyUUID()]
    const following = startedDriver('following', () => Promise.resolve(), true)
    const running = await start(
      [
        service('store'),
        instance(store, 'store'),
        instance(client, 'client'),
        instance(caller, 'caller', 'following'),
        '\napiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: osm-mesh-config, namespace: osm-system }\n' +
          'spec: { sidecar: { sidecarClass: fake, sidecarDrivers: [{ sidecarName: following }] } }\n',
        target('client').replace(
          'name: client,',
          'name: client, namespace: shop }, { kind: ServiceAccount, name: caller,',
        ),
      ].join('---'),
      following,
    )
    const whole = await connect(running, client, 'client')
    const apart = await connect(running, caller, 'caller', following)
    const [firstWhole, firstApart] = [await whole.next(), await apart.next()]
    const partOf = async (driver: StartedDriver, update: PolicyUpdate) => {
      const ref = update.added.find(({ kind }) => kind === 'endpoints')
      const part = ref && (await driver.context().meshCatalog.parts.get(ref.hash))
      return { hash: ref?.hash, addresses: part?.kind === 'endpoints' ? part.endpoints.map((it) => it.address) : [] }
    }
    const inWhole = await partOf(running.fake, firstWhole)
    const inApart = await partOf(following, firstApart)
    expect([inWhole.addresses, inApart.addresses]).toEqual([['10.0.0.1'], ['10.0.0.1']])
    expect(inWhole.hash).not.toBe(inApart.hash)
    expect(running.fake.context().meshCatalog.endpoints).toBeUndefined()

    const { endpoints } = following.context().meshCatalog
    if (endpoints === undefined) throw new Error('the driver follows endpoints')
    const updates = endpoints.watch(running.signal)[Symbol.asyncIterator]()
    const update = updates.next()
    const statusOf = async (uuid: ProxyUUID): Promise<Record<string, unknown>> => {
      const { proxies } = JSON.parse((await get(running.controller.debugPort, '/debug/status')).body) as {
        proxies: (Record<string, unknown> & { uuid: string })[]
      }
      return proxies.find((proxy) => proxy.uuid === uuid) ?? {}
    }
    const report = { revision: firstApart.revision, complete: true, parts: [], session: apart.proxy.session }
    await following.context().proxies.report(report)
    const before = await statusOf(caller)
    expect(before).toMatchObject({ state: 'applied', wantedVersion: before.appliedVersion })
    running.source.put(instance(store, 'store').replace('10.0.0.1', '10.0.0.7'))
    const { value } = (await update) as {
      value: { generation: number; parts: readonly { hash: string; part: unknown }[] }
    }
    expect(value.parts).toMatchObject([{ hash: inApart.hash, part: { endpoints: [{ address: '10.0.0.7' }] } }])
    const secondWhole = await whole.next()
    expect((await partOf(running.fake, secondWhole)).addresses).toEqual(['10.0.0.7'])
    // What a hash stood for stays what it was for a driver that does not follow endpoints.
    expect(await statusOf(caller)).toMatchObject({ state: 'unknown', appliedRevision: firstApart.revision })
    await following.context().proxies.report({ ...report, endpoints: value.generation })
    const after = await statusOf(caller)
    expect(after).toMatchObject({
      state: 'applied',
      wantedVersion: after.appliedVersion,
      revision: firstApart.revision,
    })
    expect(after.wantedVersion).not.toBe(before.wantedVersion)

    // Endpoints that a proxy may not call any more are not waited for.
    const more = updates.next()
    running.source.put(instance(store, 'store').replace('10.0.0.1', '10.0.0.8'))
    await more
    expect(await statusOf(caller)).toMatchObject({ state: 'unknown' })
    running.source.put(target('client'))
    const { revision } = await apart.next()
    await following.context().proxies.report({ ...report, revision })
    expect(await statusOf(caller)).toMatchObject({ state: 'applied', appliedRevision: revision })
  })

  it('gives a proxy its policy, follows changes, and says where it stands', async () => {
    const [store, client] = [newProxyUUID(), newProxyUUID()]
    const running = await start(
      [service('store'), instance(store, 'store'), instance(client, 'client'), target('client')].join('---'),
    )
    const { proxy, next } = await connect(running, store, 'store')
    expect(proxy).toMatchObject({ identity: 'store.shop', principal: 'store.shop.cluster.local', class: 'fake' })
    const first = await next()
    expect(first.proxy.inbound.map(({ id }) => id)).toEqual(['shop/store|8080'])
    const part = await running.fake.context().meshCatalog.parts.get(first.proxy.inbound[0]?.part ?? ('' as never))
    expect(part).toMatchObject({ kind: 'inbound', rules: { kind: 'http' } })

    const status = async (): Promise<{ state: string; appliedVersion?: string }> =>
      (
        JSON.parse((await get(running.controller.debugPort, '/debug/status')).body) as {
          proxies: { uuid: string; state: string }[]
        }
      ).proxies.find(({ uuid }) => uuid === store) ?? { state: 'missing' }
    expect(await status()).toMatchObject({ state: 'unknown' })
    await running.fake
      .context()
      .proxies.report({ session: proxy.session, revision: first.revision, complete: true, parts: [] })
    expect(await status()).toMatchObject({ state: 'applied', appliedVersion: first.version, ready: true })
    expect(JSON.parse((await get(running.controller.debugPort, '/debug/status')).body)).toMatchObject({
      summary: { expected: 2, connected: 1, applied: 1, rejected: 0, ready: 2 },
    })

    running.source.put(target('nobody'))
    const second = await next()
    expect(second.version).not.toBe(first.version)
    expect(second.removed.map(({ kind }) => kind)).toContain('inbound')
    await running.fake.context().proxies.report({
      session: proxy.session,
      revision: second.revision,
      complete: true,
      parts: [],
      work: { queueMs: 0, translateMs: 1.5, encodeMs: 0, sendMs: 0, bytes: 300 },
    })
    const readPushes = async (): Promise<{ changes: { ack: { lastMs: number } }[] }> =>
      JSON.parse((await get(running.controller.debugPort, '/debug/pushes')).body) as Awaited<
        ReturnType<typeof readPushes>
      >
    // A change is on the page once it has been computed for every proxy. The first of them may have answered before.
    let pushes = await readPushes()
    while (pushes.changes.length < 1) pushes = await readPushes()
    expect(pushes.changes).toMatchObject([
      {
        cause: { objects: ['TrafficTarget/shop/store'], others: [] },
        // The client is not connected, so its policy is not kept up to date.
        changed: 1,
        proxies: { touched: 1, acknowledged: 1, rejected: 0, left: 0, pending: 0 },
        translate: { totalMs: 1.5, maxMs: 1.5 },
        bytes: 300,
      },
    ])
    expect(pushes.changes[0]?.ack.lastMs).toBeGreaterThan(0)
    const metrics = (await get(running.controller.healthPort, '/metrics')).body
    expect(metrics).toContain('osm_proxy_convergence_seconds_count{class="fake"} 1')
    expect(metrics).toContain('osm_proxy_apply_states{class="fake",state="applied"} 1')
    await expect(running.fake.context().meshCatalog.parts.get('unknown' as never)).rejects.toMatchObject({
      code: 'OSM_PART_UNKNOWN',
    })
  })

  it('accepts no one but the holder of the certificate of a workload of that class', async () => {
    const [store, foreign] = [newProxyUUID(), newProxyUUID()]
    const other = startedDriver('other')
    const running = await start(
      [service('store'), instance(store, 'store'), instance(foreign, 'client', 'other')].join('---'),
      other,
    )
    const { proxies } = running.fake.context()
    const refusal = async (certificate: Promise<Uint8Array>): Promise<unknown> =>
      proxies.authenticate(await certificate).catch((error: unknown) => error)
    expect(await refusal(running.proxyCertificate(newProxyUUID(), 'store'))).toMatchObject({
      code: 'OSM_PROXY_UNKNOWN',
    })
    expect(await refusal(running.proxyCertificate(store, 'client'))).toMatchObject({ code: 'OSM_PROXY_UNKNOWN' })
    expect(await refusal(running.proxyCertificate(store, `${store}.sidecar.store`))).toMatchObject({
      code: 'OSM_PROXY_UNKNOWN',
    })
    expect(await refusal(running.proxyCertificate(foreign, 'client'))).toMatchObject({ code: 'OSM_PROXY_WRONG_CLASS' })
    expect(await refusal(Promise.resolve(new Uint8Array([1, 2, 3])))).toMatchObject({
      code: 'OSM_PROXY_UNAUTHENTICATED',
    })
    const name = { kind: 'service', serviceAccount: { namespace: 'shop', name: 'store' }, services: [] } as const
    const { certificateNames } = await import('@osm-ts/core')
    const leaf = await issueLeaf(
      running.provider,
      { ...certificateNames(name, domains), validityMs: 60_000, key: { algorithm: 'ECDSA' } },
      running.signal,
    )
    expect(await refusal(Promise.resolve(new X509Certificate(leaf.chain).raw))).toMatchObject({
      code: 'OSM_PROXY_UNAUTHENTICATED',
    })
  })

  it('lists who takes part, and how far the others have got', async () => {
    const [store, client] = [newProxyUUID(), newProxyUUID()]
    const running = await start([service('store'), instance(store, 'store'), instance(client, 'client')].join('---'))
    const page = async () =>
      JSON.parse((await get(running.controller.debugPort, '/debug/participants')).body) as {
        readonly proxies: readonly { readonly name: string; readonly state: string }[]
        readonly endpointsWithoutProxy: readonly unknown[]
        readonly summary: unknown
      }
    const states = async () => (await page()).proxies.map(({ name, state }) => `${name} ${state}`)
    const behind = { service: { namespace: 'shop', name: 'store' }, address: '10.0.0.1', port: 8080 }
    expect(await states()).toEqual(['shop/client-0 unclaimed', 'shop/store-0 unclaimed'])
    expect((await page()).endpointsWithoutProxy).toMatchObject([
      { ...behind, reason: 'notConnected', provider: expect.any(String) },
    ])
    const { proxy } = await connect(running, store, 'store')
    await connect(running, client, 'client')
    expect(await states()).toEqual(['shop/client-0 withoutEndpoint', 'shop/store-0 participant'])
    expect(await page()).toMatchObject({
      proxies: [
        { memberOf: [] },
        { uuid: store, commonName: proxy.commonName, services: [behind.service], memberOf: [behind.service] },
      ],
      endpointsWithoutProxy: [],
      summary: { expected: 2, participants: 1, endpointsWithoutProxy: 0 },
    })
    await running.fake.context().proxies.disconnected(proxy.session)
    expect(await states()).toEqual(['shop/client-0 withoutEndpoint', 'shop/store-0 disconnected'])
    running.source.put(instance(store, 'store').replace('serviceAccountName: store', 'serviceAccountName: clerk'))
    await eventually(states, (names) => names[1] === 'shop/store-0 unclaimed')
  })

  it('says of a service who may call it, under which names, and where it runs', async () => {
    const [store, client] = [newProxyUUID(), newProxyUUID()]
    const backend = `
apiVersion: policy.openservicemesh.io/v1alpha1
kind: IngressBackend
metadata: { name: store, namespace: shop }
spec:
  backends: [{ name: store, port: { number: 8080, protocol: http } }]
  sources: [{ kind: IPRange, name: 192.0.2.0/24 }]
`
    const limits = `
apiVersion: policy.openservicemesh.io/v1alpha1
kind: UpstreamTrafficSetting
metadata: { name: limits, namespace: shop }
spec: { host: store.shop.svc.cluster.local }
`
    const running = await start(
      [
        service('store'),
        service('other'),
        instance(store, 'store'),
        instance(client, 'client'),
        target('client'),
        backend,
        limits,
      ].join('---'),
    )
    const page = async (path: string): Promise<unknown> =>
      JSON.parse((await get(running.controller.debugPort, path)).body) as unknown
    await eventually(
      () => page('/debug/policies'),
      (policies) => JSON.stringify(policies).includes('"smi":{"trafficTargets":[{'),
    )
    expect(await page('/debug/policies')).toMatchObject({
      TrafficTarget: [{ metadata: { name: 'store' } }],
      smi: {
        trafficTargets: [{ kind: 'TrafficTarget', namespace: 'shop', name: 'store' }],
        serviceAccounts: [
          { namespace: 'shop', name: 'client' },
          { namespace: 'shop', name: 'store' },
        ],
      },
    })
    expect(await page('/debug/services')).toEqual({
      services: [
        { namespace: 'shop', name: 'other', inPolicy: true },
        { namespace: 'shop', name: 'store', inPolicy: true },
      ],
    })
    expect(await page('/debug/services?service=shop/store')).toMatchObject({
      service: { namespace: 'shop', name: 'store' },
      accounts: [
        { identity: 'store.shop', services: ['shop/other', 'shop/store'], inbound: ['client.shop'], outbound: [] },
      ],
      inboundServices: [],
      trafficPolicies: [{ target: { name: 'store' }, source: { account: { name: 'client' } } }],
      hosts: expect.arrayContaining(['store', 'store.shop.svc.cluster.local:80']),
      weight: 100,
      upstreams: ['shop/store|8080'],
      endpoints: [{ address: '10.0.0.1', port: 8080, identity: 'store.shop' }],
      backpressure: { kind: 'UpstreamTrafficSetting', name: 'limits' },
      ingress: { policies: [{ ingress: { name: 'store' }, targetPort: 8080 }], routes: { '*': expect.any(Array) } },
    })
    await expect(get(running.controller.debugPort, '/debug/services?service=shop/none')).resolves.toMatchObject({
      status: 404,
    })
    const ofClient = '/debug/endpoints?account=shop/client'
    expect(await page(ofClient)).toMatchObject({ changed: true, endpoints: expect.any(Array) })
    expect(await page(ofClient)).toMatchObject({ changed: false })
    expect(await page('/debug/endpoints')).toMatchObject({
      providers: [{ id: expect.any(String) }, { id: 'external-workloads', state: 'ok', services: 0 }],
    })
  })

  it('evicts the older session of a proxy, and all of them when the workload is gone', async () => {
    const uuid = newProxyUUID()
    const running = await start([service('store'), instance(uuid, 'store')].join('---'))
    const evictions = running.fake.context().proxies.evictions(running.signal)[Symbol.asyncIterator]()
    const evicted = async (): Promise<Eviction> => (await evictions.next()).value as Eviction
    const first = await connect(running, uuid, 'store')
    const second = await connect(running, uuid, 'store')
    expect(await evicted()).toEqual({ uuid, session: first.proxy.session, reason: 'superseded' })
    running.source.remove('WorkloadInstance/shop/store-0')
    expect(await evicted()).toEqual({ uuid, session: second.proxy.session, reason: 'workload-deleted' })
    await expect(connect(running, uuid, 'store')).rejects.toMatchObject({ code: 'OSM_PROXY_UNKNOWN' })
  })

  it('ends the session of a proxy whose workload runs under another account now, and refuses it from then on', async () => {
    const uuid = newProxyUUID()
    const running = await start([service('store'), instance(uuid, 'store')].join('---'))
    const evictions = running.fake.context().proxies.evictions(running.signal)[Symbol.asyncIterator]()
    const { proxy } = await connect(running, uuid, 'store')
    running.source.put(instance(uuid, 'store').replace('serviceAccountName: store', 'serviceAccountName: client'))
    expect((await evictions.next()).value).toEqual({ uuid, session: proxy.session, reason: 'workload-deleted' })
    await expect(connect(running, uuid, 'store')).rejects.toMatchObject({ code: 'OSM_PROXY_UNKNOWN' })
    await expect(connect(running, uuid, 'client')).resolves.toMatchObject({ proxy: { identity: 'client.shop' } })
  })

  it('shows the policy of each of several proxies with one uuid by its identity, and says of one identity who has the proxy', async () => {
    const uuid = newProxyUUID()
    const copy = instance(uuid, 'store').replace('name: store-0', 'name: store-1').replaceAll('2026', '2027')
    const running = await start([service('store'), instance(uuid, 'store'), instance(uuid, 'client'), copy].join('---'))
    await connect(running, uuid, 'store')
    const { debugPort = 0 } = running.controller
    const page = `/debug/policy?uuid=${uuid}`
    const ofClient = JSON.parse((await get(debugPort, `${page}&identity=client.shop`)).body) as unknown
    expect(ofClient).toMatchObject({ proxy: { identity: 'client.shop' } })
    await expect(get(debugPort, page)).resolves.toMatchObject({
      status: 400,
      body: expect.stringContaining('store.shop'),
    })
    const { proxies } = JSON.parse((await get(debugPort, '/debug/status')).body) as {
      readonly proxies: readonly { readonly name: string; readonly conditions: unknown }[]
    }
    const shared = expect.objectContaining({ code: 'OSM_POLICY_PROXY_DUPLICATE' }) as unknown
    expect(proxies).toMatchObject([
      { name: 'shop/client-0', conditions: [], connected: false },
      { name: 'shop/store-0', conditions: [shared], wantedVersion: expect.any(String) },
      { name: 'shop/store-1', conditions: [shared], connected: false },
    ])
    for (const other of [0, 2]) expect(proxies[other]).not.toHaveProperty('wantedVersion')
  })

  it('keeps to the connection cap', async () => {
    const [a, b] = [newProxyUUID(), newProxyUUID()]
    const cap =
      'apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: osm-mesh-config, namespace: osm-system }\nspec: { sidecar: { maxDataPlaneConnections: 1 } }\n'
    const running = await start([cap, instance(a, 'store'), instance(b, 'client')].join('---\n'))
    await connect(running, a, 'store')
    await expect(connect(running, b, 'client')).rejects.toMatchObject({ code: 'OSM_PROXY_EVICTED' })
    await expect(connect(running, a, 'store')).resolves.toBeDefined()
  })

  it('issues service certificates for all services of an identity, and again when they change', async () => {
    const uuid = newProxyUUID()
    const running = await start([service('store'), instance(uuid, 'store')].join('---'))
    const { proxy } = await connect(running, uuid, 'store')
    const credentials = running.fake.context().certManager.identity(proxy, running.signal)[Symbol.asyncIterator]()
    const names = async (): Promise<string> => {
      const credential = await credentials.next()
      if (credential.done === true) throw new Error('the credential stream has ended')
      return new X509Certificate(credential.value.chain).subjectAltName ?? ''
    }
    expect(await names()).toBe(
      'DNS:store.shop.cluster.local, DNS:store.shop.svc.cluster.local, URI:spiffe://cluster.local/store/shop',
    )
    running.source.put(service('shelf'))
    expect(await names()).toContain('DNS:shelf.shop.svc.cluster.local')
  })

  it('gives no credential that the policy does not refer to', async () => {
    const uuid = newProxyUUID()
    const running = await start([instance(uuid, 'store')].join('---'))
    const { proxy } = await connect(running, uuid, 'store')
    const ask = (): unknown =>
      running.fake
        .context()
        .certManager.credentials(proxy, { kind: 'secret', namespace: 'shop', name: 'key' }, running.signal)
    expect(ask).toThrow(expect.objectContaining({ code: 'OSM_CREDENTIAL_DENIED' }))
  })

  it('serves health, version and metrics', async () => {
    const { controller } = await start(service('store'))
    await expect(get(controller.healthPort, '/health/alive')).resolves.toEqual({
      status: 200,
      body: 'Service is alive',
    })
    await expect(get(controller.healthPort, '/health/ready')).resolves.toEqual({
      status: 200,
      body: 'Service is ready',
    })
    await expect(get(controller.healthPort, '/version')).resolves.toMatchObject({
      status: 200,
      body: expect.stringContaining('"git_commit":"c"'),
    })
    await expect(get(controller.healthPort, '/metrics')).resolves.toMatchObject({
      body: expect.stringContaining('osm_policy_recompute_seconds_count'),
    })
    await expect(get(controller.healthPort, '/debug/status')).resolves.toMatchObject({ status: 404 })
  })

  it('becomes unready when the default driver ends itself, and stays alive to the others', async () => {
    const running = await start(service('store'))
    running.fake.context().cancel(new Error('the proxy control plane lost its socket'))
    await expect(get(running.controller.healthPort, '/health/ready')).resolves.toMatchObject({ status: 503 })
    expect(running.fake.context().signal.aborted).toBe(true)
  })

  it('shows debug pages, those of drivers among them, and no key', async () => {
    const uuid = newProxyUUID()
    const running = await start([service('store'), instance(uuid, 'store'), target('client')].join('---'))
    const { proxy } = await connect(running, uuid, 'store')
    const credentials = running.fake.context().certManager.identity(proxy, running.signal)[Symbol.asyncIterator]()
    await credentials.next()
    running.fake.context().debugHandlers.register('/debug/proxy', async ({ query }) => ({
      status: 200,
      contentType: 'text/plain',
      body: `proxy ${query.uuid ?? ''}`,
    }))
    const { debugPort } = running.controller
    await expect(get(debugPort, '/debug/proxy?uuid=u1')).resolves.toEqual({ status: 200, body: 'proxy u1' })
    await expect(get(debugPort, '/debug/nothing')).resolves.toMatchObject({ status: 404 })
    const index = (await get(debugPort, '/debug')).body.trim().split('\n')
    expect(index).toEqual(
      expect.arrayContaining(['/debug/status', '/debug/policy', '/debug/certs', '/debug/config', '/debug/proxy']),
    )
    for (const page of index) expect((await get(debugPort, `${page}?uuid=${uuid}`)).body).not.toContain('PRIVATE KEY')
    expect((await get(debugPort, '/debug/certs')).body).toContain('store.shop.cluster.local')
    expect(JSON.parse((await get(debugPort, `/debug/policy?uuid=${uuid}`)).body)).toMatchObject({
      policyVersion: 1,
      proxy: { id: uuid },
      origins: expect.any(Object),
    })
  })

  it('says which port is taken', async () => {
    const { controller } = await start(service('store'))
    const source = new TextSource()
    const provider = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
    const attempt = startController({
      ...base,
      sources: [source],
      certificateProvider: provider,
      drivers: [startedDriver('fake').driver],
      ports: { debug: Number(controller.debugPort), health: 0 },
      metrics: new Metrics(),
      logger: silent(),
      signal: new AbortController().signal,
    })
    await expect(attempt).rejects.toMatchObject({
      code: 'OSM_PROGRAM_LISTEN',
      message: expect.stringContaining(String(controller.debugPort)),
    })
    provider.close()
  })
})
