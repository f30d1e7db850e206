import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import type { Place } from '@osm-ts/core/testing'
import type { CallAnswer } from '@osm-ts/driver-testkit/testing'
import type { Caller } from '../support/caller.js'
import { denied, isSuccess, speakerOf, works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'
import { anyHttp, tcpRoute, trafficTarget } from '../support/smi.js'
import type { TestNamespace } from '../support/test-namespace.js'
import { deployment, server, service } from '../support/workloads.js'
import { waitUntil } from '../wait-until.js'

const setUpTimeoutMs = 540_000
const limitMs = 120_000
/** That one of three backends is missed by chance in forty is less likely than one in a million. */
const callsInARow = 40
const clients = ['client-1', 'client-2']
const backends = ['server-1', 'server-2', 'server-3']
const ports = { 8080: 'http', 9000: 'tcp-server-first' }

let cluster: SharedCluster
let mesh: Mesh
let accounts: TestNamespace
let shared: TestNamespace

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run)

/** The Service that is split: it selects the pods of all backends. */
const apex = (namespace: string): object =>
  service({
    name: 'all',
    namespace,
    selector: { tier: 'backend' },
    ports: [
      { port: 8080, appProtocol: 'http' },
      { port: 9000, appProtocol: 'tcp-server-first' },
    ],
  })

const split = (namespace: string, apexName: string, names: readonly string[]): object => ({
  apiVersion: 'split.smi-spec.io/v1alpha2',
  kind: 'TrafficSplit',
  metadata: { namespace, name: 'split' },
  spec: { service: apexName, backends: names.map((name) => ({ service: name, weight: 50 })) },
})

const allow = (namespace: string, account: string, rules?: readonly object[]): object => {
  const sources: readonly Place[] = clients.map((name) => ({ namespace, name }))
  return trafficTarget({ destination: { namespace, name: account }, sources, ...(rules !== undefined && { rules }) })
}

/** Waits until forty calls in a row were answered by these servers, by each of them, and by no other. */
async function reaches(caller: Caller, url: string, expected: readonly string[]): Promise<void> {
  let row: string[] = []
  await waitUntil(
    `${callsInARow} answers in a row of ${expected.join(', ')} to ${caller.name} at ${url}`,
    async () => {
      const answer = await caller.call(url)
      const name = isSuccess(answer) ? nameOf(answer) : ''
      row = expected.includes(name) ? [...row, name] : []
      return row.length >= callsInARow && new Set(row).size === expected.length ? true : undefined
    },
    { timeoutMs: limitMs, everyMs: 5, signal: AbortSignal.timeout(2 * limitMs) },
  )
}

function nameOf(answer: CallAnswer): string {
  return answer.received === undefined ? speakerOf(answer).server : answer.received.replace('220 ', '')
}

beforeAll(async () => {
  cluster = SharedCluster.open()
  mesh = await Mesh.install(cluster, { name: 'split' })
  ;[accounts, shared] = await Promise.all([
    mesh.createNamespace('split-accounts'),
    mesh.createNamespace('split-same-sa'),
  ])
  await Promise.all(
    [accounts, shared].map(({ name: namespace, image }) => {
      const account = namespace === 'split-same-sa' ? { account: 'server' } : {}
      const labels = { tier: 'backend' }
      return accounts.run(
        { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name: 'server' } },
        apex(namespace),
        ...clients.map((name) => deployment({ name, namespace, image, replicas: 2 })),
        ...backends.map((name) => server({ name, namespace, image, ports, labels, replicas: 2, ...account })),
      )
    }),
  )
}, setUpTimeoutMs)

afterAll(async () => {
  await mesh.uninstall()
}, setUpTimeoutMs)

const everyPodOfClients = async (namespace: TestNamespace): Promise<readonly Caller[]> => {
  const pods = (await Promise.all(clients.map((name) => namespace.pods(name)))).flat()
  expect(pods).toHaveLength(4)
  return pods.map(({ metadata }) => namespace.caller(`pod/${metadata.name}`))
}

describe('trafficsplit: what is sent to an apex Service is shared out', () => {
  test('with SMI, HTTP requests of every client reach every backend', async () => {
    const { name } = accounts
    const policies = [anyHttp(name), ...backends.map((backend) => allow(name, backend)), split(name, 'all', backends)]
    await accounts.apply(policies)
    const callers = await everyPodOfClients(accounts)
    for (const caller of callers) await reaches(caller, 'http://all:8080/', backends)
    await accounts.remove(policies)
    await denied(callers[0]!, 'http://all:8080/')
  })

  test('with SMI, TCP connections of every client reach every backend', async () => {
    const { name } = accounts
    const rules = [{ kind: 'TCPRoute', name: 'tcp' }]
    const policies = [
      tcpRoute(name, [9000]),
      ...backends.map((backend) => allow(name, backend, rules)),
      split(name, 'all', backends),
    ]
    await accounts.apply(policies)
    const callers = await everyPodOfClients(accounts)
    for (const caller of callers) await reaches(caller, 'tcp://all:9000', backends)
    await accounts.remove(policies)
    await denied(callers[0]!, 'tcp://all:9000')
  })

  test('in permissive mode, HTTP requests of every client reach the backends of the split, and no others', async () => {
    await mesh.patchMeshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true } })
    const chosen = backends.slice(0, 2)
    const policy = split(accounts.name, 'all', chosen)
    const callers = await everyPodOfClients(accounts)
    await works(callers[0]!, 'http://all:8080/')
    await accounts.apply(policy)
    for (const caller of callers) await reaches(caller, 'http://all:8080/', chosen)
    await accounts.remove(policy)
    await reaches(callers[0]!, 'http://all:8080/', backends)
    await mesh.patchMeshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false } })
  })
})

describe('trafficsplit_same_sa: backends share a service account', () => {
  test('and one TrafficTarget opens all of them, each of which gets requests', async () => {
    const { name } = shared
    const policies = [anyHttp(name), allow(name, 'server'), split(name, 'all', backends)]
    await shared.apply(policies)
    for (const caller of await everyPodOfClients(shared)) await reaches(caller, 'http://all:8080/', backends)
    await shared.remove(policies)
  })
})

describe('trafficsplit_recursive_split: an apex Service is its own backend', () => {
  test('and every backend gets its share, by HTTP and by TCP', async () => {
    const { name } = shared
    const policies = [
      anyHttp(name),
      // Beside a route group, a TCPRoute says at which ports requests are allowed.
      tcpRoute(name, [8080, 9000]),
      allow(name, 'server', [
        { kind: 'HTTPRouteGroup', name: 'any-http', matches: ['all'] },
        { kind: 'TCPRoute', name: 'tcp' },
      ]),
      split(name, 'server-1', backends),
    ]
    await shared.apply(policies)
    for (const caller of await everyPodOfClients(shared)) {
      await reaches(caller, 'http://server-1:8080/', backends)
      await reaches(caller, 'tcp://server-1:9000', backends)
    }
    await shared.remove(policies)
  })
})
