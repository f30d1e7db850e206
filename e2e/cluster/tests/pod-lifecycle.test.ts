import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import type { CallAnswer } from '../../dataplane/actor/protocol.js'
import { isSuccess, works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'
import type { TestNamespace } from '../support/test-namespace.js'
import { deployment, server } from '../support/workloads.js'

const setUpTimeoutMs = 540_000
const testTimeoutMs = 400_000
const replicas = 10
const callsAtATime = 4
/** Callers learn of the end of a pod later than it does: an application has to serve for that long. */
const linger = 5
const url = 'http://server.lifecycle:8080/'

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
  mesh = await Mesh.install(cluster, { name: 'lifecycle', values: { enablePermissiveTrafficPolicy: true } })
  namespace = await mesh.createNamespace('lifecycle')
  const { name, image } = namespace
  await namespace.run(
    deployment({ name: 'client', namespace: name, image }),
    server({ name: 'server', namespace: name, image, ports: { 8080: 'http' }, replicas, linger }),
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
    const lost: CallAnswer[] = []
    let calls = 0
    let isOver = false
    const load = Array.from({ length: callsAtATime }, async () => {
      while (!isOver) {
        const answer = await caller.call(url)
        calls += 1
        if (!isSuccess(answer)) lost.push(answer)
      }
    })
    try {
      await cluster.kubectl.run(['rollout', 'restart', 'deploy/server', '-n', namespace.name])
      await namespace.rollout('Deployment', 'server')
      // The last of the old pods are on their way out when the new ones are ready.
      const ended = [...before].map((pod) => `pod/${pod}`)
      const wait = ['wait', ...ended, '-n', namespace.name, '--for=delete', '--timeout=120s']
      await cluster.kubectl.run(wait, { timeoutMs: testTimeoutMs })
    } finally {
      isOver = true
      await Promise.all(load)
    }
    expect(lost).toEqual([])
    expect(calls).toBeGreaterThan(100)
  })
})
