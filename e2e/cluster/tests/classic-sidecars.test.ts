import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import type { CallAnswer } from '@osm-ts/driver-testkit/testing'
import { answered, works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'
import type { RunningPod, TestNamespace } from '../support/test-namespace.js'
import { deployment, server } from '../support/workloads.js'
import { waitUntil } from '../wait-until.js'

const setUpTimeoutMs = 540_000
const testTimeoutMs = 300_000
const limitMs = 120_000
const url = 'http://server.classic:8080/'
const node = '/nodejs/bin/node'

let cluster: SharedCluster
let mesh: Mesh
let namespace: TestNamespace
let outside: TestNamespace

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run, testTimeoutMs)

beforeAll(async () => {
  cluster = SharedCluster.open()
  const values = { enablePermissiveTrafficPolicy: true, nativeSidecar: 'off' }
  mesh = await Mesh.install(cluster, { name: 'classic', values })
  ;[namespace, outside] = await Promise.all([
    mesh.createNamespace('classic'),
    mesh.createOutsideNamespace('classic-outside'),
  ])
  const { name, image } = namespace
  await Promise.all([
    namespace.run(
      deployment({ name: 'client', namespace: name, image }),
      server({ name: 'server', namespace: name, image, ports: { 8080: 'http' } }),
    ),
    outside.run(deployment({ name: 'stranger', namespace: outside.name, image })),
  ])
}, setUpTimeoutMs)

afterAll(async () => {
  await mesh.uninstall()
}, setUpTimeoutMs)

/** A container of the test application with arguments of its own, or of its Node with a script. */
const container = (name: string, run: { readonly args: readonly string[] } | { readonly script: string }): object => ({
  name,
  image: namespace.image,
  imagePullPolicy: 'IfNotPresent',
  ...('args' in run ? { args: run.args } : { command: [node, '-e', run.script] }),
})

interface JobOptions {
  readonly name: string
  readonly restartPolicy: 'Never' | 'OnFailure'
  readonly backoffLimit?: number
  readonly containers: readonly object[]
}

/** A Job without a word about the mesh. */
const job = ({ name, restartPolicy, backoffLimit = 0, containers }: JobOptions): object => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { namespace: namespace.name, name },
  spec: {
    backoffLimit,
    template: {
      metadata: { labels: { app: name } },
      spec: { serviceAccountName: 'client', restartPolicy, containers },
    },
  },
})

const untilJob = (name: string, condition: 'Complete' | 'Failed'): Promise<string> => {
  const args = ['wait', `job/${name}`, '-n', namespace.name, `--for=condition=${condition}`, '--timeout=120s']
  return cluster.kubectl.run(args, { timeoutMs: testTimeoutMs })
}

interface ContainerStatus {
  readonly name: string
  readonly restartCount: number
  readonly state: {
    readonly running?: object
    readonly terminated?: { readonly exitCode: number; readonly finishedAt: string }
  }
}

type StatusOfPod = RunningPod & { readonly status: { readonly containerStatuses?: readonly ContainerStatus[] } }

/** The pod of a Job, and the states of its containers by name. */
const podOf = async (name: string) => {
  const [pod] = (await namespace.pods(name)) as readonly StatusOfPod[]
  const states = Object.fromEntries((pod?.status.containerStatuses ?? []).map((status) => [status.name, status]))
  return { pod: pod!, states }
}
const exitCodesOf = async (name: string) => {
  const { pod, states } = await podOf(name)
  return {
    containers: pod.spec.containers.map(({ name }) => name),
    app: states.app?.state.terminated?.exitCode,
    sidecar: states.sidecar?.state.terminated?.exitCode,
  }
}

describe('a Job whose sidecar is a container like others', () => {
  test('completes when its container has been answered, by the mesh', async () => {
    // Nothing holds it back until the sidecar is ready: what fails is tried again.
    await namespace.apply(
      job({
        name: 'answered',
        restartPolicy: 'OnFailure',
        backoffLimit: 20,
        containers: [container('app', { args: ['call', url] })],
      }),
    )
    await untilJob('answered', 'Complete')
    const containers = ['app', 'sidecar']
    await expect(exitCodesOf('answered')).resolves.toEqual({ containers, app: 0, sidecar: 0 })
    const { pod } = await podOf('answered')
    const log = await cluster.kubectl.run(['logs', pod.metadata.name, '-c', 'app', '-n', namespace.name])
    expect(JSON.parse(log)).toMatchObject({ status: 200 } satisfies Partial<CallAnswer>)
  })

  test('completes although it has ended before its sidecar has heard of the mesh, and within seconds', async () => {
    await namespace.apply(
      job({ name: 'short', restartPolicy: 'Never', containers: [container('app', { script: 'process.exit(0)' })] }),
    )
    await untilJob('short', 'Complete')
    await expect(exitCodesOf('short')).resolves.toMatchObject({ app: 0, sidecar: 0 })
    const { states } = await podOf('short')
    const endOf = (name: string): number => Date.parse(states[name]?.state.terminated?.finishedAt ?? '')
    expect(endOf('sidecar') - endOf('app')).toBeLessThan(30_000)
  })

  test('fails when its container has failed, and the sidecar is not to blame', async () => {
    await namespace.apply(
      job({ name: 'failing', restartPolicy: 'Never', containers: [container('app', { script: 'process.exit(3)' })] }),
    )
    await untilJob('failing', 'Failed')
    await expect(exitCodesOf('failing')).resolves.toMatchObject({ app: 3, sidecar: 0 })
  })

  test('keeps its sidecar until the last of its containers has ended', async () => {
    const containers = [
      container('app', { args: ['serve', '--linger=0'] }),
      container('helper', { script: 'process.exit(0)' }),
    ]
    await namespace.apply(job({ name: 'pair', restartPolicy: 'Never', containers }))
    await waitUntil(
      'the end of the helper',
      async () => {
        const { states } = await podOf('pair')
        return states.helper?.state.terminated
      },
      { timeoutMs: limitMs, signal: AbortSignal.timeout(limitMs) },
    )
    const { pod } = await podOf('pair')
    const { name: pair } = pod.metadata
    // Long enough for the control plane to have heard of the helper.
    await works(namespace.caller(`pod/${pair}`), url, { times: 200 })
    const { states } = await podOf('pair')
    expect(states.sidecar?.state.running).toBeDefined()
    const end = ['exec', pair, '-n', namespace.name, '-c', 'app', '--', node, '-e', 'process.kill(1)']
    await cluster.kubectl.run(end)
    await untilJob('pair', 'Complete')
    await expect(exitCodesOf('pair')).resolves.toMatchObject({ app: 0, sidecar: 0 })
  })
})

describe('a classic sidecar', () => {
  test('can be ended by no one who reaches its pod', async () => {
    const { pod } = await podOf('server')
    const stranger = outside.caller('deploy/stranger')
    const quit = (port: number, accept: (answer: CallAnswer) => boolean) =>
      answered(stranger, `http://${pod.status.podIP}:${port}/quitquitquit`, {
        method: 'POST',
        what: 'is of no avail',
        accept,
      })
    // The administration interface, what shows metrics, and what answers the kubelet.
    await quit(15_000, ({ error = '' }) => /ECONNREFUSED|ECONNRESET|hang up/.test(error))
    await quit(15_010, ({ status }) => status === 404)
    await quit(15_904, ({ status }) => status === 404)
    const { states } = await podOf('server')
    expect(states.sidecar).toMatchObject({ restartCount: 0, state: { running: {} } })
  })
})
