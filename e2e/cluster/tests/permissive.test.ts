import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import type { Caller } from '../support/caller.js'
import { answered, denied, works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { type LoadReport, underLoad } from '../support/load.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'
import { anyHttp, trafficTarget } from '../support/smi.js'
import { sidecarOf, type TestNamespace } from '../support/test-namespace.js'
import { deployment, server } from '../support/workloads.js'
import { waitUntil } from '../wait-until.js'

const setUpTimeoutMs = 540_000
const ports = { 8080: 'http' }
/** Pods of the namespace that is enrolled and withdrawn. */
const replicas = 20
const leastCalls = 10_000
/** Of each of two callers: more than the calls that are wanted while pods start, and little beside what their start takes. */
const pace = { callsAtATime: 4, callsPerSecond: 50 }
/** Seconds that pods serve after they were told to end: a busy machine takes long to send callers elsewhere. */
const linger = 40
const enrolmentTimeoutMs = 600_000
const neverAborted = new AbortController().signal
const url = 'http://server.permissive-shop:8080/'

let cluster: SharedCluster
let mesh: Mesh
let shop: TestNamespace
let limits: TestNamespace
let again: TestNamespace
let outside: TestNamespace
let late: TestNamespace

const test = (name: string, run: () => Promise<void>, timeoutMs?: number): void =>
  clusterTest(name, () => cluster, run, timeoutMs)
const permissive = (isOn: boolean): Promise<void> =>
  mesh.patchMeshConfig({ traffic: { enablePermissiveTrafficPolicyMode: isOn } })

beforeAll(async () => {
  cluster = SharedCluster.open()
  const values = { enablePermissiveTrafficPolicy: true, featureFlags: { enableRetryPolicy: true } }
  mesh = await Mesh.install(cluster, { name: 'permissive', values })
  ;[shop, limits, again, outside, late] = await Promise.all([
    mesh.createNamespace('permissive-shop'),
    mesh.createNamespace('permissive-limits'),
    mesh.createNamespace('permissive-again'),
    mesh.createOutsideNamespace('permissive-outside'),
    mesh.createOutsideNamespace('permissive-late'),
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
    late.run(server({ name: 'server', namespace: late.name, image, ports, replicas, linger })),
  ])
}, setUpTimeoutMs)

afterAll(async () => {
  await mesh.uninstall()
}, setUpTimeoutMs)

describe('permissive: everybody of the mesh may call everybody', () => {
  test('a pod of the mesh is answered, one outside is refused, and without the mode no one is answered', async () => {
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

describe('a namespace of 20 pods that is enrolled, withdrawn and enrolled again', () => {
  const lateUrl = 'http://server.permissive-late:8080/'

  async function restart(): Promise<void> {
    await cluster.kubectl.run(['rollout', 'restart', 'deploy/server', '-n', late.name])
    await late.rollout('Deployment', 'server')
  }

  /** Pods that are to continue running and have a sidecar. */
  async function withSidecar(): Promise<number> {
    const pods = await late.pods('server')
    return pods.filter((pod) => pod.metadata.deletionTimestamp === undefined && sidecarOf(pod) !== undefined).length
  }

  /** Calls of both callers while something is done. */
  async function load(
    [first, second]: readonly [Caller, Caller],
    work: (made: () => number) => Promise<void>,
  ): Promise<LoadReport> {
    let inner: LoadReport = { calls: 0, lost: [] }
    const both = async (madeByFirst: () => number): Promise<void> => {
      inner = await underLoad(second, lateUrl, (made) => work(() => made() + madeByFirst()), pace)
    }
    const { calls, lost } = await underLoad(first, lateUrl, both, pace)
    return { calls: calls + inner.calls, lost: [...lost, ...inner.lost] }
  }

  test(
    'loses no request of callers with and without a sidecar, as docs/guides/enrol.md goes about it',
    async () => {
      const callers = [shop.caller('deploy/client'), outside.caller('deploy/stranger')] as const
      const [client, stranger] = callers
      await mesh.patchMeshConfig({ traffic: { enableEgress: true, plaintextNamespaces: [late.name] } })
      for (const caller of callers) await works(caller, lateUrl)
      const { lost, calls } = await load(callers, async (made) => {
        // Pods that start take most of a small machine: each step continues until its share of the calls is made.
        const step = async (number: number): Promise<void> => {
          await restart()
          const isDone = (): Promise<true | undefined> =>
            Promise.resolve(made() >= (leastCalls * number) / 3 ? true : undefined)
          await waitUntil(`the calls of step ${number}`, isDone, { timeoutMs: 120_000, signal: neverAborted })
        }
        await mesh.add(late)
        await step(1)
        expect(await withSidecar()).toBe(replicas)
        await mesh.add(late, ['--disable-sidecar-injection'])
        await step(2)
        expect(await withSidecar()).toBe(0)
        await mesh.osm('namespace', 'remove', late.name, '--mesh-name', mesh.name)
        await mesh.add(late)
        await step(3)
      })
      expect(lost).toEqual([])
      expect(calls).toBeGreaterThanOrEqual(leastCalls)
      await mesh.patchMeshConfig({ traffic: { enableEgress: false, plaintextNamespaces: [] } })
      await denied(stranger, lateUrl)
      await works(client, lateUrl)
    },
    enrolmentTimeoutMs,
  )
})
