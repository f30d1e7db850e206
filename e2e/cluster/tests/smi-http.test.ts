import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { denied, speakerOf, works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'
import { anyHttp, trafficTarget } from '../support/smi.js'
import type { TestNamespace } from '../support/test-namespace.js'
import { deployment, server, service } from '../support/workloads.js'

const setUpTimeoutMs = 540_000
const clients = ['client-1', 'client-2', 'client-3', 'client-4', 'client-5']

let cluster: SharedCluster
let mesh: Mesh
let many: TestNamespace
let callers: TestNamespace
let servers: TestNamespace

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run)

beforeAll(async () => {
  cluster = SharedCluster.open()
  mesh = await Mesh.install(cluster, { name: 'smi-http' })
  ;[many, callers, servers] = await Promise.all([
    mesh.createNamespace('smi-many'),
    mesh.createNamespace('smi-callers'),
    mesh.createNamespace('smi-servers'),
  ])
  const { image } = many
  await Promise.all([
    many.run(
      server({ name: 'server', namespace: many.name, image, ports: { 8080: 'http' }, replicas: 3 }),
      service({
        name: 'server-headless',
        namespace: many.name,
        ports: [{ port: 8080, appProtocol: 'http' }],
        selector: { app: 'server' },
        headless: true,
      }),
      ...clients.map((name) => deployment({ name, namespace: many.name, image, replicas: 2 })),
    ),
    callers.run(
      ...['allowed', 'other'].map((name) => deployment({ name, namespace: callers.name, image })),
      // A caller that is a server of somebody as well.
      server({ name: 'shop', namespace: callers.name, image, ports: { 8080: 'http' } }),
    ),
    servers.run(server({ name: 'server', namespace: servers.name, image, ports: { 8080: 'http' } })),
  ])
}, setUpTimeoutMs)

afterAll(async () => {
  await mesh.uninstall()
}, setUpTimeoutMs)

describe('deployment_client_server: a Deployment calls the Service of another', () => {
  const policies = (): readonly object[] => [
    anyHttp(many.name),
    trafficTarget({
      destination: { namespace: many.name, name: 'server' },
      sources: clients.map((name) => ({ namespace: many.name, name })),
    }),
  ]

  test('every pod of five Deployments reaches every pod of the server', async () => {
    await many.apply(policies())
    const pods = (await Promise.all(clients.map((name) => many.pods(name)))).flat()
    expect(pods).toHaveLength(2 * clients.length)
    const reached = await Promise.all(
      pods.map(({ metadata }) => works(many.caller(`pod/${metadata.name}`), 'http://server:8080/', { times: 20 })),
    )
    const instances = new Set(reached.flat().map((answer) => speakerOf(answer).instance))
    expect([...instances].sort()).toEqual((await many.pods('server')).map(({ metadata }) => metadata.name).sort())
  })
})

describe('deployment_client_headless_server: a Deployment calls a headless Service', () => {
  test('and each of its pods answers', async () => {
    const answers = await works(many.caller('deploy/client-1'), 'http://server-headless:8080/', { times: 30 })
    const instances = new Set(answers.map((answer) => speakerOf(answer).instance))
    expect([...instances].sort()).toEqual((await many.pods('server')).map(({ metadata }) => metadata.name).sort())
  })
})

const target = (source: string): object =>
  trafficTarget({
    destination: { namespace: servers.name, name: 'server' },
    sources: [{ namespace: callers.name, name: source }],
  })

describe('smi_traffic_target: a TrafficTarget opens a server to service accounts', () => {
  const url = 'http://server.smi-servers:8080/'

  test('the account it names is answered, another one is not, and no one once it is gone', async () => {
    const [allowed, other] = [callers.caller('deploy/allowed'), callers.caller('deploy/other')]
    await denied(allowed, url)
    await servers.apply(anyHttp(servers.name), target('allowed'))
    await works(allowed, url)
    await denied(other, url)
    await servers.remove(target('allowed'))
    await denied(allowed, url)
  })

  test('one with a route that names another account is refused in HTTP by the server, with 403', async () => {
    const only = (name: string, path: string): readonly object[] => [
      {
        apiVersion: 'specs.smi-spec.io/v1alpha4',
        kind: 'HTTPRouteGroup',
        metadata: { namespace: servers.name, name },
        spec: { matches: [{ name: 'all', pathRegex: path, methods: ['GET'] }] },
      },
      trafficTarget({
        destination: { namespace: servers.name, name: 'server' },
        sources: [{ namespace: callers.name, name }],
        name,
        rules: [{ kind: 'HTTPRouteGroup', name, matches: ['all'] }],
      }),
    ]
    const policies = [...only('allowed', '/allowed'), ...only('other', '/other')]
    await servers.apply(policies)
    const [allowed, other] = [callers.caller('deploy/allowed'), callers.caller('deploy/other')]
    await works(allowed, `${url}allowed`)
    await works(other, `${url}other`)
    await expect(other.call(`${url}allowed`)).resolves.toMatchObject({ status: 403 })
    await expect(allowed.call(`${url}other`)).resolves.toMatchObject({ status: 403 })
    await servers.remove(policies)
    await denied(allowed, `${url}allowed`)
  })
})

describe('client_server_connectivity: a policy is all that a connection takes', () => {
  test('a caller with a Service and one without are answered, and refused once the policies are gone', async () => {
    const url = 'http://server.smi-servers:8080/'
    const [plain, shop] = [callers.caller('deploy/allowed'), callers.caller('deploy/shop')]
    const policies = [
      anyHttp(servers.name),
      trafficTarget({
        destination: { namespace: servers.name, name: 'server' },
        sources: ['allowed', 'shop'].map((name) => ({ namespace: callers.name, name })),
      }),
    ]
    await servers.apply(policies)
    await works(plain, url)
    await works(shop, url)
    await servers.remove(policies)
    await denied(plain, url)
    await denied(shop, url)
  })

  test('a server that listens on the address of its pod is reached with localProxyMode PodIP', async () => {
    await mesh.patchMeshConfig({ sidecar: { localProxyMode: 'PodIP' } })
    const name = 'pod-ip'
    await servers.run(
      server({ name, namespace: servers.name, image: servers.image, ports: { 8080: 'http' } }),
      anyHttp(servers.name),
      trafficTarget({
        destination: { namespace: servers.name, name },
        sources: [{ namespace: callers.name, name: 'allowed' }],
      }),
    )
    await works(callers.caller('deploy/allowed'), `http://${name}.smi-servers:8080/`)
    await mesh.patchMeshConfig({ sidecar: { localProxyMode: 'Localhost' } })
  })
})
