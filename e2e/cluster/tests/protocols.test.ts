import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { denied, speakerOf, works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'
import { anyHttp, tcpRoute, trafficTarget } from '../support/smi.js'
import type { TestNamespace } from '../support/test-namespace.js'
import { tlsSecret } from '../support/tls-secret.js'
import { deployment, server, service, statefulSet } from '../support/workloads.js'

const setUpTimeoutMs = 540_000
const serverPorts = {
  8080: 'http',
  8081: 'http',
  9000: 'tcp',
  9001: 'tcp-server-first',
  9002: 'grpc',
  9003: 'grpc-tls',
}
const keeperPorts = { 2181: 'tcp', 2888: 'tcp-server-first', 3888: 'tcp', 8080: 'http' }

let cluster: SharedCluster
let mesh: Mesh
let shop: TestNamespace
let zoo: TestNamespace

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run)

beforeAll(async () => {
  cluster = SharedCluster.open()
  mesh = await Mesh.install(cluster, { name: 'protocols' })
  ;[shop, zoo] = await Promise.all([mesh.createNamespace('protocols-shop'), mesh.createNamespace('protocols-zoo')])
  const { name: namespace, image } = shop
  await Promise.all([
    shop.run(
      tlsSecret(namespace, 'certificate', 'server.test'),
      ...['client', 'other'].map((name) => deployment({ name, namespace, image })),
      server({ name: 'server', namespace, image, ports: serverPorts, certificate: 'certificate' }),
      service({
        name: 'second',
        namespace,
        ports: [{ port: 80, targetPort: 8080, appProtocol: 'http' }],
        selector: { app: 'server' },
      }),
    ),
    zoo.run(
      statefulSet({ name: 'keeper', namespace: zoo.name, image, ports: keeperPorts, replicas: 3 }),
      deployment({ name: 'visitor', namespace: zoo.name, image }),
    ),
  ])
}, setUpTimeoutMs)

afterAll(async () => {
  await mesh.uninstall()
}, setUpTimeoutMs)

const permissive = (isOn: boolean): Promise<void> =>
  mesh.patchMeshConfig({ traffic: { enablePermissiveTrafficPolicyMode: isOn } })
const byTcp = [{ kind: 'TCPRoute', name: 'tcp' }]
const allow = (rules: readonly object[]): object =>
  trafficTarget({
    destination: { namespace: shop.name, name: 'server' },
    sources: [{ namespace: shop.name, name: 'client' }],
    rules,
  })

describe('tcp_client_server: connections of TCP', () => {
  const url = 'tcp://server:9000'

  test('are let through by a TCPRoute, for the account that is named alone', async () => {
    const policies = [tcpRoute(shop.name, [9000]), allow(byTcp)]
    await shop.apply(policies)
    const answers = await works(shop.caller('deploy/client'), url, { send: 'hello' })
    expect(answers.map(({ received }) => received)).toEqual(Array.from(answers, () => 'hello'))
    await denied(shop.caller('deploy/other'), url, { send: 'hello' })
    await shop.remove(policies)
    await denied(shop.caller('deploy/client'), url, { send: 'hello' })
  })

  test('are let through for everybody in permissive mode', async () => {
    await permissive(true)
    await works(shop.caller('deploy/client'), url, { send: 'hello' })
    await works(shop.caller('deploy/other'), url, { send: 'hello' })
    await permissive(false)
    await denied(shop.caller('deploy/other'), url, { send: 'hello' })
  })
})

describe('tcp_server_first: servers that speak first', () => {
  test('are heard before the client has said a word', async () => {
    const policies = [tcpRoute(shop.name, [9001]), allow(byTcp)]
    await shop.apply(policies)
    const [answer] = await works(shop.caller('deploy/client'), 'tcp://server:9001')
    expect(answer).toMatchObject({ received: '220 server' })
    await denied(shop.caller('deploy/other'), 'tcp://server:9001')
    await shop.remove(policies)
  })
})

describe('grpc_insecure_origination: plain gRPC', () => {
  test('obeys HTTP routes, and is denied once they are gone', async () => {
    const policies = [anyHttp(shop.name), allow([{ kind: 'HTTPRouteGroup', name: 'any-http', matches: ['all'] }])]
    const url = 'grpc://server:9002/echo.Echo/Say'
    await shop.apply(policies)
    const [answer] = await works(shop.caller('deploy/client'), url, { body: 'hello' })
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ server: 'server', body: 'hello', version: '2.0' })
    await denied(shop.caller('deploy/other'), url)
    await shop.remove(policies)
    await denied(shop.caller('deploy/client'), url)
  })
})

describe('grpc_secure_origination: gRPC inside TLS of the applications', () => {
  test('passes by a TCPRoute, and is denied once it is gone', async () => {
    const policies = [tcpRoute(shop.name, [9003]), allow(byTcp)]
    const url = 'grpcs://server:9003/echo.Echo/Say'
    await shop.apply(policies)
    const [answer] = await works(shop.caller('deploy/client'), url, { body: 'hello' })
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ server: 'server', body: 'hello' })
    await shop.remove(policies)
    await denied(shop.caller('deploy/client'), url)
  })
})

describe('multiple_ports_per_service: a Service with six ports', () => {
  test('is reached at each by the protocol of that port', async () => {
    await permissive(true)
    const caller = shop.caller('deploy/client')
    await works(caller, 'http://server:8080/')
    await works(caller, 'http://server:8081/')
    await works(caller, 'tcp://server:9000', { send: 'hello' })
    await works(caller, 'tcp://server:9001')
    await works(caller, 'grpc://server:9002/echo.Echo/Say')
    await permissive(false)
  })
})

describe('multiple_services_per_pod: two Services of one pod', () => {
  test('both lead to it', async () => {
    await permissive(true)
    const caller = shop.caller('deploy/client')
    for (const url of ['http://server:8080/', 'http://second/']) {
      const answers = await works(caller, url)
      expect(answers.map((answer) => speakerOf(answer).server)).toEqual(answers.map(() => 'server'))
    }
    await permissive(false)
  })
})

describe('statefulsets: three members that talk to each other, as those of ZooKeeper do', () => {
  const members = ['keeper-0', 'keeper-1', 'keeper-2']

  test('each reaches every other at the ports of members, and clients reach only what is theirs', async () => {
    const keeper = { namespace: zoo.name, name: 'keeper' }
    const to = (name: string, source: string, rules: readonly object[]): object =>
      trafficTarget({ destination: keeper, sources: [{ namespace: zoo.name, name: source }], name, rules })
    await zoo.apply(
      tcpRoute(zoo.name, [2181, 2888, 3888], 'members'),
      tcpRoute(zoo.name, [2181], 'clients'),
      to('members', 'keeper', [{ kind: 'TCPRoute', name: 'members' }]),
      to('clients', 'visitor', [{ kind: 'TCPRoute', name: 'clients' }]),
    )
    const callers = new Map(members.map((name) => [name, zoo.caller(`pod/${name}`)]))
    const pairs = members.flatMap((from) => members.filter((to) => to !== from).map((to) => [from, to] as const))
    for (const [from, to] of pairs) {
      const caller = callers.get(from)!
      await works(caller, `tcp://${to}.keeper:2888`)
      await works(caller, `tcp://${to}.keeper:3888`, { send: 'vote' })
      await works(caller, `tcp://${to}.keeper.protocols-zoo.svc.cluster.local:2181`, { send: 'ruok' })
    }
    const visitor = zoo.caller('deploy/visitor')
    await works(visitor, 'tcp://keeper:2181', { send: 'ruok' })
    await denied(visitor, 'tcp://keeper-0.keeper:2888')
  })

  test('each is reached by its own name, and no other answers for it', async () => {
    const visitor = zoo.caller('deploy/visitor')
    await permissive(true)
    for (const name of members) {
      const answers = await works(visitor, `http://${name}.keeper:8080/`)
      expect(answers.map((answer) => speakerOf(answer).instance)).toEqual(answers.map(() => name))
    }
    await permissive(false)
  })
})
