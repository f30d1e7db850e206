import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { judge } from '@osm-ts/driver-testkit'
import type { CallAnswer } from '@osm-ts/driver-testkit/testing'
import { bookstoreObjects, demoObjects, type BookstoreObject } from '../support/bookstore.js'
import { answered, denied, speakerOf, works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'
import { type RunningPod, sidecarOf, type TestNamespace } from '../support/test-namespace.js'
import { waitUntil } from '../wait-until.js'

const setUpTimeoutMs = 540_000
const limitMs = 120_000
const manifests = fileURLToPath(new URL('../../../examples/bookstore', import.meta.url))
const names = ['bookbuyer', 'bookthief', 'bookstore', 'bookwarehouse'] as const
const store = 'http://bookstore.bookstore:14001'
const warehouse = 'http://bookwarehouse.bookwarehouse:14001'
const restock = { method: 'POST', body: '{"books":1}' }
/** Answers that a split is judged by. */
const sample = 500
/** Times that each probe is to have succeeded. */
const probings = 5
const probedApps = [
  ['bookstore', 'bookstore'],
  ['bookwarehouse', 'bookwarehouse'],
  ['bookwarehouse', 'bookdb'],
] as const
/** By HTTP and by TCP, by gRPC and by program, and by TCP. */
const probed = ['bookstore-v1', 'bookstore-v2', 'bookwarehouse', 'bookdb'].flatMap((workload) =>
  ['Readiness', 'Liveness'].map((kind) => `${workload} ${kind}`),
)

let cluster: SharedCluster
let mesh: Mesh
let namespaces: Readonly<Record<(typeof names)[number], TestNamespace>>
let demo: readonly BookstoreObject[]

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run)

beforeAll(async () => {
  cluster = SharedCluster.open()
  mesh = await Mesh.install(cluster, { name: 'books' })
  const made = await Promise.all(names.map(async (name) => [name, await mesh.createNamespace(name)] as const))
  namespaces = Object.fromEntries(made) as typeof namespaces
  const { bookstore, bookbuyer, bookthief, bookwarehouse } = namespaces
  demo = demoObjects(names)
  await bookstore.apply(demo)
  const run = (namespace: TestNamespace, objects: readonly BookstoreObject[]): Promise<void> =>
    namespace.run(objects.filter(({ metadata }) => metadata.namespace === namespace.name))
  const clients = bookstoreObjects('clients.yaml', bookstore.image)
  await Promise.all([
    run(bookstore, bookstoreObjects('bookstore.yaml', bookstore.image)),
    run(bookwarehouse, bookstoreObjects('bookwarehouse.yaml', bookstore.image)),
  ])
  await Promise.all([run(bookbuyer, clients), run(bookthief, clients)])
}, setUpTimeoutMs)

afterAll(async () => {
  await mesh.uninstall()
}, setUpTimeoutMs)

const until = <T>(what: string, ask: () => Promise<T | undefined>): Promise<T> =>
  waitUntil(what, ask, { timeoutMs: limitMs, signal: new AbortController().signal })

/** What the kubelets have counted, by workload, kind of probe and result; of several pods the least. */
const probeCounts = async (): Promise<ReadonlyMap<string, number>> => {
  const counts = new Map<string, number>()
  for (const node of cluster.nodes) {
    const page = await cluster.kubectl.run(['get', '--raw', `/api/v1/nodes/${node}/proxy/metrics/probes`])
    for (const [, labels = '', value = ''] of page.matchAll(/^prober_probe_total\{(.*)\} (\S+)$/gm)) {
      const label = (name: string): string => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? ''
      const [workload] = /^(?:bookstore-v[12]|bookwarehouse|bookdb)(?=-)/.exec(label('pod')) ?? []
      if (label('container') !== 'app' || workload === undefined) continue
      const key = `${workload} ${label('probe_type')} ${label('result')}`
      counts.set(key, Math.min(Number(value), counts.get(key) ?? Infinity))
    }
  }
  return counts
}

type ProbedPod = RunningPod & {
  readonly status: { readonly containerStatuses?: readonly { readonly restartCount: number }[] }
}

const demoObject = (kind: string, name: string): BookstoreObject => {
  const found = demo.find((object) => object.kind === kind && object.metadata.name === name)
  if (found === undefined) throw new Error(`the demo has no ${kind} ${name}`)
  return found
}
const answerIn = async (namespace: TestNamespace, pod: string, container: string): Promise<CallAnswer> =>
  JSON.parse(await cluster.kubectl.run(['logs', pod, '-c', container, '-n', namespace.name])) as CallAnswer

describe('the policies of the demo', () => {
  test('let the bookbuyer look and buy, and keep it from the bookwarehouse', async () => {
    const buyer = namespaces.bookbuyer.caller('deploy/bookbuyer')
    await works(buyer, `${store}/books-bought`)
    await works(buyer, `${store}/buy-a-book/new`)
    await denied(buyer, `${warehouse}/restock-books`, restock)
  })

  test('let the bookthief look but not buy, until it is allowed to, and then no more', async () => {
    const thief = namespaces.bookthief.caller('deploy/bookthief')
    const policy = demoObject('TrafficTarget', 'bookthief-access-bookstore')
    const rules = [
      { kind: 'HTTPRouteGroup', name: 'bookstore-service-routes', matches: ['books-bought', 'buy-a-book'] },
    ]
    await works(thief, `${store}/books-bought`)
    await denied(thief, `${store}/buy-a-book/new`)
    await namespaces.bookstore.apply({ ...policy, spec: { ...policy.spec, rules } })
    await works(thief, `${store}/buy-a-book/new`)
    await denied(thief, `${warehouse}/restock-books`, restock)
    await namespaces.bookstore.apply(policy)
    await denied(thief, `${store}/buy-a-book/new`)
    await works(thief, `${store}/books-bought`)
  })

  test('let the bookstore restock, and nothing else, whichever version it is', async () => {
    for (const version of ['bookstore-v1', 'bookstore-v2']) {
      const caller = namespaces.bookstore.caller(`deploy/${version}`)
      await works(caller, `${warehouse}/restock-books`, restock)
      await denied(caller, `${warehouse}/other`)
    }
  })
})

describe('the TrafficSplit of the demo', () => {
  const shared = async (shares: Readonly<Record<string, number>>): Promise<void> => {
    const buyer = namespaces.bookbuyer.caller('deploy/bookbuyer')
    const url = `${store}/books-bought`
    const faults = async (): Promise<readonly string[]> => {
      const answers = await Promise.all(Array.from({ length: sample }, () => buyer.call(url)))
      return judge({ kind: 'http', from: 'bookbuyer', http: `GET ${url}`, status: 200, shares }, answers)
    }
    const what = `shares of ${JSON.stringify(shares)}`
    await until(what, async () => ((await faults()).length === 0 ? true : undefined))
    // Weights have arrived: what counts is one sample, and no choice of several.
    expect(await faults()).toEqual([])
  }
  const split = (...weights: readonly number[]): object => {
    const policy = demoObject('TrafficSplit', 'bookstore-split')
    const backends = weights.map((weight, index) => ({ service: `bookstore-v${index + 1}`, weight }))
    return { ...policy, spec: { ...policy.spec, backends } }
  }

  test('gives three of four requests to one version, then half, then none, as its weights say', async () => {
    await shared({ 'bookstore-v1': 0.75, 'bookstore-v2': 0.25 })
    await namespaces.bookstore.apply(split(50, 50))
    await shared({ 'bookstore-v1': 0.5, 'bookstore-v2': 0.5 })
    await namespaces.bookstore.apply(split(0, 100))
    await shared({ 'bookstore-v1': 0, 'bookstore-v2': 1 })
    await namespaces.bookstore.apply(split(75, 25))
    await shared({ 'bookstore-v1': 0.75, 'bookstore-v2': 0.25 })
  })
})

describe('pods of the bookstore', () => {
  test('are answered by the mesh in their init containers', async () => {
    for (const name of ['bookbuyer', 'bookthief'] as const) {
      const [pod] = await namespaces[name].pods(name)
      const answer = await answerIn(namespaces[name], pod!.metadata.name, 'look')
      expect(answer).toMatchObject({ status: 200 })
      expect(speakerOf(answer).server).toMatch(/^bookstore-v[12]$/)
    }
  })

  test('pass their probes by HTTP, TCP, gRPC and program again and again, without a restart', async () => {
    await until('successful probes', async () => {
      const counts = await probeCounts()
      return probed.every((probe) => (counts.get(`${probe} successful`) ?? 0) >= probings) ? true : undefined
    })
    const counts = await probeCounts()
    expect([...counts.keys()].filter((key) => key.endsWith('Liveness failed'))).toEqual([])
    for (const [namespace, app] of probedApps) {
      const pods = (await namespaces[namespace].pods(app)) as readonly ProbedPod[]
      expect(pods.flatMap(({ status }) => status.containerStatuses?.map(({ restartCount }) => restartCount))).toEqual(
        pods.map(() => 0),
      )
    }
  })

  test('of a Job end when the bookwarehouse has answered them', async () => {
    const { bookstore } = namespaces
    await bookstore.apply(bookstoreObjects('restock.yaml', bookstore.image))
    const wait = ['wait', 'job/restock', '-n', bookstore.name, '--for=condition=Complete', '--timeout=120s']
    await cluster.kubectl.run(wait, { timeoutMs: setUpTimeoutMs })
    const [pod] = await bookstore.pods('restock')
    const answer = await answerIn(bookstore, pod!.metadata.name, 'app')
    expect(answer).toMatchObject({ status: 200 })
    expect(speakerOf(answer).server).toBe('bookwarehouse')
  })

  test('of a StatefulSet are reached by their own names, by the account that is named alone', async () => {
    const caller = namespaces.bookwarehouse.caller('deploy/bookwarehouse')
    const thief = namespaces.bookthief.caller('deploy/bookthief')
    for (const member of ['bookdb-0', 'bookdb-1']) {
      const url = `tcp://${member}.bookdb.bookwarehouse:3306`
      const accept = ({ received }: CallAnswer): boolean => received === `220 ${member}`
      await answered(caller, url, { what: `is greeted by ${member}`, accept })
      await denied(thief, url)
    }
  })
})

describe('the manifests of examples/bookstore', () => {
  /** The latest status of each attempt of a client, by its target and path. */
  const statuses = async (namespace: TestNamespace, client: string): Promise<Readonly<Record<string, number>>> => {
    const logs = ['logs', `deployment/${client}`, '-n', namespace.name, '-c', client, '--tail=9']
    const lines = (await cluster.kubectl.run(logs)).trim().split('\n')
    const attempts = lines.map((line) => JSON.parse(line) as { target: string; path: string; status: number })
    return Object.fromEntries(attempts.map(({ target, path, status }) => [`${target} ${path}`, status]))
  }
  const reports = async (
    namespace: TestNamespace,
    client: string,
    expected: Readonly<Record<string, number>>,
  ): Promise<void> => {
    await until(`${client} reports ${JSON.stringify(expected)}`, async () => {
      const found = await statuses(namespace, client)
      return Object.entries(expected).every(([attempt, status]) => found[attempt] === status) ? true : undefined
    })
  }

  test('run the bookstore of the guide with sidecars and under its policies', async () => {
    const tcpDemo = await mesh.createNamespace('tcp-demo')
    const all = [...Object.values(namespaces), tcpDemo]
    for (const { name } of all)
      await cluster.kubectl.run(['delete', 'deployments,statefulsets', '--all', '-n', name], { timeoutMs: limitMs })
    const rendered = await cluster.kubectl.run(['kustomize', manifests])
    const label = 'openservicemesh.io/monitored-by: '
    await cluster.kubectl.run(['apply', '-f', '-'], { input: rendered.replaceAll(`${label}osm`, label + mesh.name) })
    for (const { name } of all) {
      const wait = ['wait', 'deployments', '--all', '-n', name, '--for=condition=Available', '--timeout=240s']
      await cluster.kubectl.run(wait, { timeoutMs: setUpTimeoutMs })
    }
    await reports(namespaces.bookbuyer, 'bookbuyer', {
      'bookstore /books-bought': 200,
      'bookstore /buy-a-book/new': 200,
    })
    await reports(namespaces.bookthief, 'bookthief', {
      'bookstore /books-bought': 200,
      'bookstore /buy-a-book/new': 403,
      'bookwarehouse /restock-books': 0,
    })
    await reports(tcpDemo, 'tcp-client', { 'tcp-echo tcp:9000': 200 })
    for (const namespace of all) {
      const { items } = await cluster.kubectl.get<{ readonly items: readonly RunningPod[] }>([
        'pods',
        '-n',
        namespace.name,
      ])
      const running = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      expect(running.length).toBeGreaterThan(0)
      for (const pod of running) expect(sidecarOf(pod)).toBeDefined()
    }
  })
})
