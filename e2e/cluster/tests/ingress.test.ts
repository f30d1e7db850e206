import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import type { CallAnswer } from '@osm-ts/driver-testkit/testing'
import { answered, speakerOf, works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { Mesh } from '../support/mesh.js'
import { gatewayPort, nginxGateway } from '../support/nginx.js'
import { SharedCluster } from '../support/shared-cluster.js'
import type { TestNamespace } from '../support/test-namespace.js'
import { deployment, server } from '../support/workloads.js'
import { waitUntil } from '../wait-until.js'

const setUpTimeoutMs = 540_000
const limitMs = 120_000
const badGateway = 502
const notAllowed = 403

/** Names in certificates of the gateway. */
const gatewayName = 'gateway.example.com'
const secretName = 'gateway-certificate'
/** The name by which the gateway requests the store, and that the store's certificate has. */
const storeHost = 'store.ingress-shop.svc.cluster.local'

let cluster: SharedCluster
let mesh: Mesh
let shop: TestNamespace
let edge: TestNamespace
let outside: TestNamespace

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run)

beforeAll(async () => {
  cluster = SharedCluster.open()
  // `osm verify` asks it what proxies have applied.
  mesh = await Mesh.install(cluster, { name: 'ingress', values: { enableDebugServer: true } })
  ;[shop, edge, outside] = await Promise.all([
    mesh.createNamespace('ingress-shop'),
    // The mesh has to know the addresses of a gateway, which has no sidecar.
    mesh.createGatewayNamespace('ingress-edge'),
    mesh.createOutsideNamespace('ingress-outside'),
  ])
  await askForCertificate(gatewayName)
  const { name: namespace, image } = shop
  const target = 'store.ingress-shop:8080'
  const gateway = (name: string): readonly object[] =>
    nginxGateway({
      name,
      namespace: edge.name,
      image: cluster.image('nginx'),
      secret: secretName,
      backends: [
        { path: '/plain', target },
        { path: '/certified', target, tls: { serverName: storeHost, withCertificate: true } },
        { path: '/nameless', target, tls: { serverName: storeHost, withCertificate: false } },
      ],
    })
  await Promise.all([
    shop.run(server({ name: 'store', namespace, image, ports: { 8080: 'http' } })),
    outside.run(deployment({ name: 'visitor', namespace: outside.name, image })),
  ])
  // They look up the addresses of their backends when they start.
  await edge.run(gateway('gateway'), gateway('impostor'))
}, setUpTimeoutMs)

afterAll(async () => {
  await mesh.uninstall()
}, setUpTimeoutMs)

/** Has the mesh write a certificate for the gateway. */
const askForCertificate = (name: string): Promise<void> =>
  mesh.patchMeshConfig({
    certificate: {
      ingressGateway: {
        subjectAltNames: [name],
        validityDuration: '24h',
        secret: { name: secretName, namespace: edge.name },
      },
    },
  })

const backend = (protocol: string, sources: readonly object[], tls?: object): object => ({
  apiVersion: 'policy.openservicemesh.io/v1alpha1',
  kind: 'IngressBackend',
  metadata: { namespace: shop.name, name: 'store' },
  spec: { backends: [{ name: 'store', port: { number: 8080, protocol }, ...(tls !== undefined && { tls }) }], sources },
})
const byService = { kind: 'Service', name: 'gateway', namespace: 'ingress-edge' }
const principal = (name: string): object => ({ kind: 'AuthenticatedPrincipal', name })

/** What a visitor from the internet would do. */
const visit = (gateway: string, path: string): string => `http://${gateway}.ingress-edge:${gatewayPort}${path}/`
const visitor = () => outside.caller('deploy/visitor')
const letThrough = async (gateway: string, path: string): Promise<void> => {
  const [answer] = await works(visitor(), visit(gateway, path))
  expect(speakerOf(answer as CallAnswer).server).toBe('store')
}
const answeredWith = (wanted: number, gateway: string, path: string): Promise<readonly CallAnswer[]> =>
  answered(visitor(), visit(gateway, path), {
    what: `is answered with ${wanted}`,
    accept: ({ status }) => status === wanted,
  })
/** The mesh takes no connection of the gateway, which says so to its visitor. */
const refused = (gateway: string, path: string): Promise<readonly CallAnswer[]> =>
  answeredWith(badGateway, gateway, path)
/** The mesh knows who the gateway is, and does not let it in. */
const forbidden = (gateway: string, path: string): Promise<readonly CallAnswer[]> =>
  answeredWith(notAllowed, gateway, path)

describe('ingressbackend: a real nginx', () => {
  test('gets through by HTTP while an IngressBackend names its Service, and another nginx does not', async () => {
    await refused('gateway', '/plain')
    const policy = backend('http', [byService])
    await shop.apply(policy)
    await letThrough('gateway', '/plain')
    await refused('impostor', '/plain')
    const verify = ['--from-service', 'ingress-edge/gateway', '--to-service', 'store', '--ingress-backend', 'store']
    const [pod] = await shop.pods('store')
    const to = ['--to-pod', `${shop.name}/${pod!.metadata.name}`, '--to-port', '8080', '--app-protocol', 'http']
    await expect(
      mesh.osm('verify', 'ingress', ...verify, ...to, '--mesh-name', mesh.name, '--osm-namespace', mesh.namespace),
    ).resolves.toMatchObject({ code: 0, stderr: '' })
    await shop.remove(policy)
    await refused('gateway', '/plain')
  })

  test('gets through by HTTPS with the certificate of MeshConfig, and not without it', async () => {
    const tls = { skipClientCertValidation: false, sniHosts: [storeHost] }
    const policy = backend('https', [byService, principal(gatewayName)], tls)
    await refused('gateway', '/certified')
    await shop.apply(policy)
    await letThrough('gateway', '/certified')
    await refused('gateway', '/nameless')
    // It is requested TLS now.
    await refused('gateway', '/plain')
    // It shows the same certificate, from another address.
    await refused('impostor', '/certified')
    await shop.remove(policy)
    await refused('gateway', '/certified')
  })

  test('does not get through by HTTPS when the policy names somebody else', async () => {
    const tls = { skipClientCertValidation: false, sniHosts: [storeHost] }
    const policy = backend('https', [byService, principal('other.example.com')], tls)
    await shop.apply(policy)
    // Nothing but the name keeps it out: with its own it comes in.
    await forbidden('gateway', '/certified')
    await shop.apply(backend('https', [byService, principal(gatewayName)], tls))
    await letThrough('gateway', '/certified')
    await shop.apply(policy)
    await forbidden('gateway', '/certified')
    await shop.remove(policy)
  })

  test('needs no certificate where the policy says so', async () => {
    const policy = backend('https', [byService], { skipClientCertValidation: true, sniHosts: [storeHost] })
    await shop.apply(policy)
    await letThrough('gateway', '/nameless')
    await refused('impostor', '/nameless')
    await shop.remove(policy)
  })
})

describe('the certificate of the gateway', () => {
  interface Secret {
    readonly data: Readonly<Record<'tls.crt' | 'tls.key' | 'ca.crt', string>>
  }
  const until = <T>(what: string, ask: () => Promise<T | undefined>): Promise<T> =>
    waitUntil(what, ask, { timeoutMs: limitMs, signal: AbortSignal.timeout(limitMs) })
  const namesIn = async (): Promise<string | undefined> => {
    const { data } = await cluster.kubectl.get<Secret>(['secret', secretName, '-n', edge.name])
    return new X509Certificate(Buffer.from(data['tls.crt'], 'base64')).subjectAltName
  }

  test('is created again for another name, which is let in as soon as nginx shows it', async () => {
    await expect(namesIn()).resolves.toBe(`DNS:${gatewayName}`)
    await askForCertificate('renamed.example.com')
    await until('a certificate for the new name', async () =>
      (await namesIn()) === 'DNS:renamed.example.com' ? true : undefined,
    )
    const tls = { skipClientCertValidation: false, sniHosts: [storeHost] }
    const policy = backend('https', [byService, principal('renamed.example.com')], tls)
    await shop.apply(policy)
    await forbidden('gateway', '/certified')
    await cluster.kubectl.run(['rollout', 'restart', 'deploy/gateway', '-n', edge.name])
    await edge.rollout('Deployment', 'gateway')
    await letThrough('gateway', '/certified')
    await shop.remove(policy)
  })

  test('goes when MeshConfig does not request it any more', async () => {
    await mesh.patchMeshConfig({ certificate: { ingressGateway: null } })
    await until('the end of the Secret', async () => {
      const { code } = await cluster.kubectl.try(['get', 'secret', secretName, '-n', edge.name])
      return code === 0 ? undefined : true
    })
  })
})
