import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import type { CallAnswer } from '@osm-ts/driver-testkit/testing'
import { works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { underLoad } from '../support/load.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'
import type { RunningPod, TestNamespace } from '../support/test-namespace.js'
import { deployment, server } from '../support/workloads.js'

const setUpTimeoutMs = 540_000
const testTimeoutMs = 400_000
const replicas = 10
/** Callers learn of the end of a pod later than it does: an application has to serve for that long. */
const linger = 5
const url = 'http://server.lifecycle:8080/'
/** As pods of the control plane have it. */
const meshLabel = 'app.kubernetes.io/instance'

let cluster: SharedCluster
let mesh: Mesh
let namespace: TestNamespace

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run, testTimeoutMs)

/** A container that makes one call, as the first thing that it does, and ends with 0 if there was an answer. */
const oneCall = (name: string): object => ({
  name,
  image: namespace.image,
  imagePullPolicy: 'IfNotPresent',
  args: ['call', url],
})

beforeAll(async () => {
  cluster = SharedCluster.open()
  // A single controller that goes with its node leaves callers without news of the others for as long as it is away.
  const values = { enablePermissiveTrafficPolicy: true, osmController: { replicaCount: 2 } }
  mesh = await Mesh.install(cluster, { name: 'lifecycle', values })
  namespace = await mesh.createNamespace('lifecycle')
  const { name, image } = namespace
  await namespace.run(
    deployment({ name: 'client', namespace: name, image }),
    server({
      name: 'server',
      namespace: name,
      image,
      ports: { 8080: 'http' },
      replicas,
      linger,
      labels: { [meshLabel]: mesh.name },
    }),
  )
}, setUpTimeoutMs)

afterAll(async () => {
  await mesh.uninstall()
}, setUpTimeoutMs)

const answerIn = async (pod: string, container: string): Promise<CallAnswer> =>
  JSON.parse(await cluster.kubectl.run(['logs', pod, '-c', container, '-n', namespace.name])) as CallAnswer

describe('Jobs', () => {
  test('complete when their one container has ended, which is answered in its first moment and never tried again', async () => {
    await namespace.apply({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { namespace: namespace.name, name: 'once' },
      spec: {
        backoffLimit: 0,
        template: {
          metadata: { labels: { app: 'once' } },
          spec: { serviceAccountName: 'client', restartPolicy: 'Never', containers: [oneCall('app')] },
        },
      },
    })
    const wait = ['wait', 'job/once', '-n', namespace.name, '--for=condition=Complete', '--timeout=240s']
    await cluster.kubectl.run(wait, { timeoutMs: testTimeoutMs })
    const [pod] = await namespace.pods('once')
    expect(pod?.spec.initContainers?.map(({ name }) => name)).toEqual(['osm-init', 'sidecar'])
    await expect(answerIn(pod!.metadata.name, 'app')).resolves.toMatchObject({ status: 200 })
  })
})

describe('init containers', () => {
  test('call the mesh before the application has started', async () => {
    const { name, image } = namespace
    await namespace.run(
      deployment({ name: 'prepared', namespace: name, image, spec: { initContainers: [oneCall('prepare')] } }),
    )
    const [pod] = await namespace.pods('prepared')
    await expect(answerIn(pod!.metadata.name, 'prepare')).resolves.toMatchObject({ status: 200 })
  })
})

describe('a rolling restart', () => {
  test('of ten pods under load loses no request', async () => {
    const caller = namespace.caller('deploy/client')
    await works(caller, url)
    const before = new Set((await namespace.pods('server')).map(({ metadata }) => metadata.name))
    const { calls, lost } = await underLoad(caller, url, async () => {
      await cluster.kubectl.run(['rollout', 'restart', 'deploy/server', '-n', namespace.name])
      await namespace.rollout('Deployment', 'server')
      // The last of the old pods are on their way out when the new ones are ready.
      const ended = [...before].map((pod) => `pod/${pod}`)
      const wait = ['wait', ...ended, '-n', namespace.name, '--for=delete', '--timeout=120s']
      await cluster.kubectl.run(wait, { timeoutMs: testTimeoutMs })
    })
    expect(lost).toEqual([])
    expect(calls).toBeGreaterThan(100)
  })
})

describe('a node that is drained', () => {
  test('takes its pods along to another one without the loss of a request', async () => {
    const [first, second] = cluster.nodes
    const { name: at, image } = namespace
    const spec = { nodeSelector: { 'kubernetes.io/hostname': first } }
    await namespace.run(deployment({ name: 'staying', namespace: at, image, spec }))
    const caller = namespace.caller('deploy/staying')
    await works(caller, url)
    const onNode = async (node: string | undefined): Promise<number> =>
      (await namespace.pods('server')).filter((pod) => pod.spec.nodeName === node).length
    expect(await onNode(second)).toBeGreaterThan(0)
    const release = await cluster.locks.claim('nodes')
    try {
      const { calls, lost } = await underLoad(caller, url, async () => {
        const drain = ['drain', second!, '--ignore-daemonsets', '--delete-emptydir-data', '--force', '--timeout=240s']
        // With its control plane, and without what other files have there.
        drain.push(`--pod-selector=${meshLabel}=${mesh.name}`)
        await cluster.kubectl.run(drain, { timeoutMs: testTimeoutMs })
        await namespace.rollout('Deployment', 'server')
      })
      expect(lost).toEqual([])
      expect(calls).toBeGreaterThan(100)
      expect(await onNode(first)).toBe(replicas)
    } finally {
      await cluster.kubectl.run(['uncordon', second!])
      // The drain has moved the injector too, and until it runs again no pod can be created.
      const injector = ['rollout', 'status', 'deploy/osm-injector', '-n', mesh.namespace, '--timeout=240s']
      await cluster.kubectl.run(injector, { timeoutMs: testTimeoutMs })
      await mesh.untilPodsAreReviewed(namespace)
      release()
    }
  })
})

describe('a copy of a pod for debugging', () => {
  test('gets a sidecar with its own identity, and the original keeps what it has', async () => {
    const { name: at } = namespace
    const uuidOf = (pod: RunningPod | undefined): string | undefined => pod?.metadata.labels?.['osm-proxy-uuid']
    const [original] = await namespace.pods('client')
    const copy = ['debug', original!.metadata.name, '-n', at, '--copy-to=copied', '--container=app']
    const program = ['/nodejs/bin/node', '/app/test-app.mjs', 'serve', '--linger=0']
    await cluster.kubectl.run([...copy, '--', ...program], { timeoutMs: testTimeoutMs })
    const ready = ['wait', 'pod/copied', '-n', at, '--for=condition=Ready', '--timeout=120s']
    await cluster.kubectl.run(ready, { timeoutMs: testTimeoutMs })
    const copied = await cluster.kubectl.get<RunningPod>(['pod', 'copied', '-n', at])
    expect(uuidOf(copied)).toMatch(/^[0-9a-f-]{36}$/)
    expect(uuidOf(copied)).not.toBe(uuidOf(original))
    await works(namespace.caller('pod/copied'), url)
    await works(namespace.caller(`pod/${original!.metadata.name}`), url)
  })
})
