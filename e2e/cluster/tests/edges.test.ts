import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import type { CallAnswer } from '@osm-ts/driver-testkit/testing'
import { denied, speakerOf, works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'
import type { TestNamespace } from '../support/test-namespace.js'
import { tlsSecret } from '../support/tls-secret.js'
import { deployment, server } from '../support/workloads.js'
import { waitUntil } from '../wait-until.js'

const setUpTimeoutMs = 540_000
const limitMs = 120_000

let cluster: SharedCluster
let mesh: Mesh
let shop: TestNamespace
let outside: TestNamespace
let edge: TestNamespace

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run)

beforeAll(async () => {
  cluster = SharedCluster.open()
  mesh = await Mesh.install(cluster, { name: 'edges' })
  ;[shop, outside, edge] = await Promise.all([
    mesh.createNamespace('edges-shop'),
    // The cluster has no egress: a client outside the mesh stands for a client outside the cluster.
    mesh.createOutsideNamespace('edges-outside'),
    // The mesh has to know the addresses of a gateway, which has no sidecar.
    mesh.createGatewayNamespace('edges-gateway'),
  ])
  const { name: namespace, image } = outside
  await Promise.all([
    shop.run(
      ...['client', 'thief'].map((name) => deployment({ name, namespace: shop.name, image })),
      server({ name: 'store', namespace: shop.name, image, ports: { 8080: 'http' } }),
    ),
    outside.run(
      tlsSecret(namespace, 'certificate', 'bank.edges-outside'),
      server({ name: 'books', namespace, image, ports: { 8080: 'http' } }),
      server({ name: 'bank', namespace, image, ports: { 8443: 'https' }, certificate: 'certificate' }),
      server({ name: 'mail', namespace, image, ports: { 2525: 'tcp-server-first', 2626: 'tcp' } }),
      deployment({ name: 'stranger', namespace, image }),
    ),
    edge.run(server({ name: 'gateway', namespace: edge.name, image, ports: { 8000: 'http' } })),
  ])
}, setUpTimeoutMs)

afterAll(async () => {
  await mesh.uninstall()
}, setUpTimeoutMs)

const books = 'http://books.edges-outside:8080'
const bank = 'https://bank.edges-outside:8443/'

describe('egress: global egress lets pods reach what is outside of the mesh', () => {
  test('by HTTP and HTTPS while it is on, and not once it is off', async () => {
    const client = shop.caller('deploy/client')
    await denied(client, `${books}/`)
    await mesh.patchMeshConfig({ traffic: { enableEgress: true } })
    await works(client, `${books}/`)
    await works(client, bank)
    await mesh.patchMeshConfig({ traffic: { enableEgress: false } })
    await denied(client, `${books}/`)
    await denied(client, bank)
  })
})

const egress = (name: string, spec: Readonly<Record<string, unknown>>): object => ({
  apiVersion: 'policy.openservicemesh.io/v1alpha1',
  kind: 'Egress',
  metadata: { namespace: shop.name, name },
  spec: { sources: [{ kind: 'ServiceAccount', name: 'client', namespace: shop.name }], ...spec },
})

describe('egress_policy: an Egress opens a destination to service accounts', () => {
  test('a host by HTTP, to the account that is named, until it is removed', async () => {
    const policy = egress('books', { hosts: ['books.edges-outside'], ports: [{ number: 8080, protocol: 'http' }] })
    const client = shop.caller('deploy/client')
    await shop.apply(policy)
    await works(client, `${books}/`)
    await denied(shop.caller('deploy/thief'), `${books}/`)
    await shop.remove(policy)
    await denied(client, `${books}/`)
  })

  test('a host by HTTP, for the routes of a group alone', async () => {
    const policies = [
      {
        apiVersion: 'specs.smi-spec.io/v1alpha4',
        kind: 'HTTPRouteGroup',
        metadata: { namespace: shop.name, name: 'status' },
        spec: { matches: [{ name: 'status', pathRegex: '/status.*', methods: ['GET'] }] },
      },
      egress('books', {
        hosts: ['books.edges-outside'],
        ports: [{ number: 8080, protocol: 'http' }],
        matches: [{ apiGroup: 'specs.smi-spec.io/v1alpha4', kind: 'HTTPRouteGroup', name: 'status' }],
      }),
    ]
    const client = shop.caller('deploy/client')
    await shop.apply(policies)
    await works(client, `${books}/status/200`)
    await expect(client.call(`${books}/`)).resolves.toMatchObject({ status: 404 })
    await shop.remove(policies)
    await denied(client, `${books}/status/200`)
  })

  test('a host by HTTPS, by the name that is requested in TLS', async () => {
    const policy = egress('bank', { hosts: ['bank.edges-outside'], ports: [{ number: 8443, protocol: 'https' }] })
    const client = shop.caller('deploy/client')
    await shop.apply(policy)
    await works(client, bank)
    await denied(shop.caller('deploy/thief'), bank)
    await shop.remove(policy)
    await denied(client, bank)
  })
})

describe('tcp_egress: an Egress opens a port to connections', () => {
  test('anyone who speaks first, until it is removed', async () => {
    const policy = egress('mail', {
      ports: [
        { number: 2525, protocol: 'tcp-server-first' },
        { number: 2626, protocol: 'tcp' },
      ],
    })
    const client = shop.caller('deploy/client')
    await denied(client, 'tcp://mail.edges-outside:2525')
    await shop.apply(policy)
    const [answer] = await works(client, 'tcp://mail.edges-outside:2525')
    expect(answer).toMatchObject({ received: '220 mail' })
    await works(client, 'tcp://mail.edges-outside:2626', { send: 'hello' })
    await denied(shop.caller('deploy/thief'), 'tcp://mail.edges-outside:2525')
    await shop.remove(policy)
    await denied(client, 'tcp://mail.edges-outside:2525')
  })
})

describe('ingressbackend: a gateway outside of the mesh is let in', () => {
  const store = 'http://store.edges-shop:8080/'
  const backend = (source: object, name = 'store'): object => ({
    apiVersion: 'policy.openservicemesh.io/v1alpha1',
    kind: 'IngressBackend',
    metadata: { namespace: shop.name, name },
    spec: { backends: [{ name: 'store', port: { number: 8080, protocol: 'http' } }], sources: [source] },
  })
  const status = async (): Promise<unknown> => {
    const args = ['ingressbackend', 'store', '-n', shop.name]
    const found = await cluster.kubectl.get<{ readonly status?: { readonly currentStatus?: string } }>(args)
    return found.status?.currentStatus
  }

  test('by the Service that it is behind, and no one else is', async () => {
    const [gateway, stranger] = [edge.caller('deploy/gateway'), outside.caller('deploy/stranger')]
    await denied(gateway, store)
    const policy = backend({ kind: 'Service', name: 'gateway', namespace: edge.name })
    await shop.apply(policy)
    const [answer] = await works(gateway, store)
    expect(speakerOf(answer as CallAnswer).server).toBe('store')
    await denied(stranger, store)
    await waitUntil('status committed', async () => ((await status()) === 'committed' ? true : undefined), {
      timeoutMs: limitMs,
      signal: AbortSignal.timeout(limitMs),
    })
    await shop.remove(policy)
    await denied(gateway, store)
  })

  test('by its address, of which it has another one when its pod is replaced', async () => {
    const gateway = edge.caller('deploy/gateway')
    const [pod] = await edge.pods('gateway')
    const policy = backend({ kind: 'IPRange', name: `${pod!.status.podIP}/32` })
    await shop.apply(policy)
    await works(gateway, store)
    await cluster.kubectl.run(['rollout', 'restart', 'deploy/gateway', '-n', edge.name])
    await edge.rollout('Deployment', 'gateway')
    await denied(edge.caller('deploy/gateway'), store)
    await shop.remove(policy)
  })
})
