import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { answered, denied, works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'
import { anyHttp, trafficTarget } from '../support/smi.js'
import type { TestNamespace } from '../support/test-namespace.js'
import { deployment, server } from '../support/workloads.js'

const setUpTimeoutMs = 540_000
const ports = { 8080: 'http' }
const url = 'http://server.permissive-shop:8080/'

let cluster: SharedCluster
let mesh: Mesh
let shop: TestNamespace
let limits: TestNamespace
let again: TestNamespace
let outside: TestNamespace

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run)
const permissive = (isOn: boolean): Promise<void> =>
  mesh.patchMeshConfig({ traffic: { enablePermissiveTrafficPolicyMode: isOn } })

beforeAll(async () => {
  cluster = SharedCluster.open()
  const values = { enablePermissiveTrafficPolicy: true, featureFlags: { enableRetryPolicy: true } }
  mesh = await Mesh.install(cluster, { name: 'permissive', values })
  ;[shop, limits, again, outside] = await Promise.all([
    mesh.createNamespace('permissive-shop'),
    mesh.createNamespace('permissive-limits'),
    mesh.createNamespace('permissive-again'),
    mesh.createOutsideNamespace('permissive-outside'),
  ])
  const { image } = shop
  const pair = (namespace: string): readonly object[] => [
    ...deployment({ name: 'client', namespace, image }),
    ...server({ name: 'server', namespace, image, ports }),
  ]
  await Promise.all([
    shop.run(pair(shop.name), deployment({ name: 'other', namespace: shop.name, image })),
    limits.run(pair(limits.name)),
    again.run(pair(again.name), server({ name: 'flaky', namespace: again.name, image, ports })),
    outside.run(deployment({ name: 'stranger', namespace: outside.name, image })),
  ])
}, setUpTimeoutMs)

afterAll(async () => {
  await mesh.uninstall()
}, setUpTimeoutMs)

describe('permissive: everybody of the mesh may call everybody', () => {
  test('a pod of the mesh is answered, one outside is refused, and without the mode nobody is answered', async () => {
    const [client, stranger] = [shop.caller('deploy/client'), outside.caller('deploy/stranger')]
    await works(client, url)
    await denied(stranger, url)
    await permissive(false)
    await denied(client, url)
    await denied(stranger, url)
    await permissive(true)
    await works(client, url)
  })
})

describe('permissive_smi_switching: the mode is switched while pods run', () => {
  test('off, on, off, on and off with policies in its place: each takes effect', async () => {
    const [client, other] = [shop.caller('deploy/client'), shop.caller('deploy/other')]
    for (const isOn of [false, true, false, true]) {
      await permissive(isOn)
      await (isOn ? works : denied)(client, url)
      await (isOn ? works : denied)(other, url)
    }
    const policies = [
      anyHttp(shop.name),
      trafficTarget({
        destination: { namespace: shop.name, name: 'server' },
        sources: [{ namespace: shop.name, name: 'client' }],
      }),
    ]
    await shop.apply(policies)
    await permissive(false)
    await denied(other, url)
    await works(client, url)
    await shop.remove(policies)
    await denied(client, url)
    await permissive(true)
    await works(client, url)
  })
})

describe('local_ratelimit: an UpstreamTrafficSetting limits requests', () => {
  const limited = {
    what: 'is limited',
    accept: ({ status }: { readonly status: number }) => status === 429,
  }
  const setting = (spec: Readonly<Record<string, unknown>>): object => ({
    apiVersion: 'policy.openservicemesh.io/v1alpha1',
    kind: 'UpstreamTrafficSetting',
    metadata: { namespace: limits.name, name: 'server' },
    spec: { host: 'server.permissive-limits.svc.cluster.local', ...spec },
  })

  test('of a host, and then of one route of it alone, to one in a minute', async () => {
    const client = limits.caller('deploy/client')
    const limitedUrl = 'http://server.permissive-limits:8080'
    await works(client, `${limitedUrl}/`)
    await limits.apply(setting({ rateLimit: { local: { http: { requests: 1, unit: 'minute' } } } }))
    await answered(client, `${limitedUrl}/`, limited)
    await limits.apply(
      setting({ httpRoutes: [{ path: '/buy/.*', rateLimit: { local: { requests: 1, unit: 'minute' } } }] }),
    )
    await works(client, `${limitedUrl}/`)
    await answered(client, `${limitedUrl}/buy/1`, limited)
    await expect(client.call(`${limitedUrl}/`)).resolves.toMatchObject({ status: 200 })
    await limits.remove(setting({}))
    await works(client, `${limitedUrl}/`)
  })
})

describe('retry_policy: a Retry has the sidecar of the caller try again', () => {
  const retry = (): object => ({
    apiVersion: 'policy.openservicemesh.io/v1alpha1',
    kind: 'Retry',
    metadata: { namespace: again.name, name: 'patience' },
    spec: {
      source: { kind: 'ServiceAccount', namespace: again.name, name: 'client' },
      destinations: ['server', 'flaky'].map((name) => ({ kind: 'Service', namespace: again.name, name })),
      retryPolicy: { retryOn: '5xx', perTryTimeout: '5s', numRetries: 5, retryBackoffBaseInterval: '1ms' },
    },
  })
  const statistics = async (): Promise<{ readonly retries: number; readonly exceeded: number }> => {
    const [pod] = await again.pods('client')
    const { stdout } = await mesh.osm('proxy', 'get', 'stats', pod!.metadata.name, '-n', again.name)
    // What was never counted is not told.
    const value = (name: string): number =>
      Number(new RegExp(`^cluster\\.${again.name}/server\\|8080\\.${name}: (\\d+)$`, 'm').exec(stdout)?.[1] ?? 0)
    return { retries: value('upstream_rq_retry'), exceeded: value('upstream_rq_retry_limit_exceeded') }
  }

  test('five times and then no more, as the statistics of the sidecar say', async () => {
    const client = again.caller('deploy/client')
    await again.apply(retry())
    // Who fails twice is asked a third time: that it works tells that the policy is in force.
    await works(client, 'http://flaky:8080/?flaky=2', { times: 6 })
    const before = await statistics()
    await expect(client.call('http://server:8080/?status=555')).resolves.toMatchObject({ status: 555 })
    const after = await statistics()
    expect(after).toEqual({ retries: before.retries + 5, exceeded: before.exceeded + 1 })
  })

  test('not at all while the feature flag is off', async () => {
    const client = again.caller('deploy/client')
    await mesh.patchMeshConfig({ featureFlags: { enableRetryPolicy: false } })
    await answered(client, 'http://flaky:8080/?flaky=1000', {
      what: 'fails at once',
      accept: ({ status }) => status === 503,
    })
    const before = await statistics()
    expect(before.retries).toBeGreaterThanOrEqual(5)
    await client.call('http://server:8080/?status=555')
    await expect(statistics()).resolves.toEqual(before)
    await again.remove(retry())
    await mesh.patchMeshConfig({ featureFlags: { enableRetryPolicy: true } })
  })
})
