import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { appPod, callFrom } from '../support/app-pod.js'
import type { Release } from '../support/cluster-locks.js'
import { SharedCluster } from '../support/shared-cluster.js'

const namespace = 'two-nodes'
const timeoutMs = 90_000

interface Pod {
  readonly spec: { readonly nodeName: string }
  readonly status: { readonly podIP: string; readonly containerStatuses: readonly { readonly imageID: string }[] }
}

let cluster: SharedCluster
let release: Release
let pods: ReadonlyMap<string, Pod>

beforeAll(async () => {
  cluster = SharedCluster.open()
  release = await cluster.locks.share('nodes')
  const image = cluster.image('test-app')
  await cluster.kubectl.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  // The account that pods run as comes a moment after its namespace.
  await cluster.kubectl.run(['wait', 'serviceaccount/default', '-n', namespace, '--for=create', '--timeout=30s'])
  const [here, there] = cluster.nodes
  const ports = { 8080: 'http', 9000: 'tcp-server-first' }
  await cluster.kubectl.apply({
    apiVersion: 'v1',
    kind: 'List',
    items: [
      appPod({ name: 'caller', namespace, image, node: here! }),
      appPod({ name: 'server', namespace, image, ports, node: there! }),
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'shop', namespace },
        spec: { selector: { app: 'server' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
      },
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'books', namespace },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
      // As in the curl guide of OSM, which the guides of many features begin with.
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'curl', namespace },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [
            {
              name: 'curl',
              image: 'curlimages/curl',
              imagePullPolicy: 'IfNotPresent',
              command: ['sleep', '365d'],
              volumeMounts: [{ name: 'books', mountPath: '/books' }],
            },
          ],
          volumes: [{ name: 'books', persistentVolumeClaim: { claimName: 'books' } }],
        },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'shop-headless', namespace },
        spec: { clusterIP: 'None', selector: { app: 'server' }, ports: [{ name: 'tcp', port: 9000 }] },
      },
    ],
  })
  await cluster.kubectl.run(['wait', 'pod', '--all', '-n', namespace, '--for=condition=Ready', '--timeout=60s'])
  const named = async (name: string): Promise<readonly [string, Pod]> => [
    name,
    await cluster.kubectl.get<Pod>(['pod', name, '-n', namespace]),
  ]
  pods = new Map(await Promise.all(['caller', 'server'].map(named)))
}, timeoutMs)

afterAll(async () => {
  release()
  await cluster.kubectl.run(['delete', 'namespace', namespace, '--timeout=60s'])
}, timeoutMs)

const call = (...args: readonly string[]) => callFrom(cluster.kubectl, { name: 'caller', namespace }, args)

describe('the cluster', () => {
  it('has two nodes, which are ready', async () => {
    const { items } = await cluster.kubectl.get<{
      readonly items: readonly {
        readonly status: { readonly conditions: readonly { type: string; status: string }[] }
      }[]
    }>(['nodes'])
    const ready = items.map(({ status }) => status.conditions.find(({ type }) => type === 'Ready')?.status)
    expect(ready).toEqual(['True', 'True'])
    expect(cluster.nodes).toHaveLength(2)
  })

  it('runs pods on both of them, from the images that were loaded', () => {
    expect([...pods.values()].map(({ spec }) => spec.nodeName)).toEqual(cluster.nodes)
    const digest = cluster.images.find(({ name }) => name === cluster.image('test-app'))?.digest
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/)
  })

  it('lets pods reach each other across nodes', async () => {
    const answer = await call(`http://${pods.get('server')!.status.podIP}:8080/books`)
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.body ?? '')).toMatchObject({ server: 'server', path: '/books' })
  })

  it('lets pods reach Services by their names', async () => {
    // Nodes learn of an endpoint a moment after its pod is ready.
    await eventually(
      () => call('http://shop/'),
      ({ status }) => status === 200,
      { what: 'an answer of the Service' },
    )
    await expect(call(`http://shop.${namespace}.svc.cluster.local/`)).resolves.toMatchObject({ status: 200 })
    await expect(call(`tcp://shop-headless.${namespace}:9000`)).resolves.toMatchObject({ received: '220 server' })
  })

  it('lets pods reach the API server by its Service', async () => {
    const answer = await call('https://kubernetes.default.svc/readyz')
    expect(answer).toMatchObject({ status: 200, body: 'ok' })
  })

  it('runs the curl pod of the guides of OSM, on a volume of the default storage class', async () => {
    const inCurl = (...command: readonly string[]): Promise<string> =>
      cluster.kubectl.run(['exec', 'curl', '-n', namespace, '--', ...command])
    const url = `http://${pods.get('server')!.status.podIP}:8080/books`
    await inCurl('sh', '-c', `curl -sS ${url} > /books/answer`)
    expect(JSON.parse(await inCurl('cat', '/books/answer'))).toMatchObject({ server: 'server', path: '/books' })
  })

  it('gives what pods print', async () => {
    const log = await cluster.kubectl.run(['logs', 'server', '-n', namespace])
    expect(JSON.parse(log)).toEqual({ server: 'server', instance: 'server', ports: [8080, 9000] })
  })

  it('has no way out: not to an address, and not by a name', async () => {
    // TEST-NET-3 and a public resolver: neither of them belongs to anybody in the cluster.
    for (const address of ['203.0.113.1', '1.1.1.1']) {
      const answer = await call(`http://${address}/`)
      expect(answer).toMatchObject({ status: 0, error: expect.stringMatching(/ENETUNREACH|EHOSTUNREACH|timed out/) })
    }
    await expect(call('http://example.com/')).resolves.toMatchObject({ error: expect.stringContaining('ENOTFOUND') })
  })
})
