import { X509Certificate } from 'node:crypto'
import { connect } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import { fromBinary } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Authority, MemoryCaStore, pemCertificates, systemClock, TresorProvider } from '@osm-ts/core'
import { type KubernetesManifest, type KubernetesObject, type ResourceType, resourceTypes } from '@osm-ts/kubernetes'
import { SecretSchema } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret_pb.js'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { AdsClient } from './support/ads-client.js'
import { SECRET } from '../bench/references.js'
import { sharedApiServer, type ApiServer } from './harness/index.js'
import {
  ClusterStandIn,
  InstalledMesh,
  clientPod,
  httpRouteGroup,
  prepareImages,
  serverPod,
  service,
  trafficTarget,
  type Pod,
} from './stand-in/index.js'

const signal = AbortSignal.timeout(600_000)
const shop = 'twice-shop'
const certificateName = 'service-cert'
const rootsName = 'root-cert-for-mtls'

/** What a controller told a proxy: the bytes of each resource, by type and name. */
type Told = ReadonlyMap<string, string>

type Data = Readonly<Record<string, string>>

function leafOf(secret: Buffer): X509Certificate {
  const { type } = fromBinary(SecretSchema, secret)
  const chain = type.case === 'tlsCertificate' ? type.value.certificateChain?.specifier : undefined
  if (chain?.case !== 'inlineBytes' && chain?.case !== 'inlineString')
    throw new Error('the secret holds no certificate')
  return new X509Certificate(chain.value)
}

/** Every replica hears of a root in a moment, and lets its certificates follow within 40 s. */
const REPLACED_MS = 120_000

/** The certificate that a server shows. */
function shownBy(host: string, port: number): Promise<X509Certificate | undefined> {
  return new Promise((resolve, reject) => {
    // What it shows is checked, no matter who has signed it.
    const socket = connect({ host, port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate())
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

describe('two controllers and two injectors', () => {
  let server: ApiServer
  let cluster: ClusterStandIn
  let mesh: InstalledMesh
  const pods: Pod[] = []

  const create = (type: ResourceType, manifest: KubernetesManifest): Promise<KubernetesObject> =>
    server.api.create(type, manifest, { signal })

  async function filesOf(pod: Pod | undefined): Promise<(name: string) => string> {
    const uuid = pod?.metadata.labels?.['osm-proxy-uuid'] ?? ''
    const name = { namespace: shop, name: `sidecar-bootstrap-config-${uuid}` }
    const secret = await server.api.get(resourceTypes.Secret, name, signal)
    const data = secret?.data as Data
    return (file) => Buffer.from(data[file] ?? '', 'base64').toString()
  }

  /** Replaces the root in a Secret. Returns both, the previous one first. */
  async function replaceRoot(authority: Authority): Promise<readonly [X509Certificate, X509Certificate]> {
    const store = new MemoryCaStore()
    const rootKey = { algorithm: 'ECDSA' } as const
    const provider = await TresorProvider.open({ store, clock: systemClock, rootKey })
    provider.close()
    const made = await store.load(authority)
    if (made === undefined) throw new Error('no root')
    const suffix = authority === 'workload' ? '' : '-control-plane'
    const name = { namespace: mesh.namespace, name: `osm-ca-bundle${suffix}` }
    const stored = await server.api.get(resourceTypes.Secret, name, signal)
    await server.api.delete(resourceTypes.Secret, name, { signal })
    const data = { 'ca.crt': btoa(made.certificate), 'private.key': btoa(made.privateKey()) }
    await create(resourceTypes.Secret, { apiVersion: 'v1', kind: 'Secret', metadata: name, data })
    const before = Buffer.from((stored?.data as Data)['ca.crt'] ?? '', 'base64')
    return [new X509Certificate(before), new X509Certificate(made.certificate)]
  }

  beforeAll(async () => {
    server = await sharedApiServer()
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    const values = { osmController: { replicaCount: 2 }, injector: { replicaCount: 2 } }
    mesh = await InstalledMesh.install({ server, cluster, name: 'twice', values })
    await mesh.createMonitoredNamespace(shop, ['server', 'client'])
    await create(resourceTypes.Service, service(shop, 'server'))
    await create(resourceTypes.HTTPRouteGroup, httpRouteGroup(shop, 'books', '/books'))
    const target = { name: 'books', source: 'client', destination: 'server', routes: 'books' }
    await create(resourceTypes.TrafficTarget, trafficTarget(shop, target))
    const client = clientPod({ namespace: shop, name: 'client', serviceAccountName: 'client' })
    const app = serverPod({ namespace: shop, name: 'server', serviceAccountName: 'server' })
    for (const manifest of [app, client]) pods.push((await create(resourceTypes.Pod, manifest)) as unknown as Pod)
    await cluster.ready(shop, ['server', 'client'])
  })

  afterAll(async () => {
    await mesh.uninstall()
    await cluster.stop()
  })

  /**
   * Connects to every controller as the sidecar of the client; gives what each tells it. The sidecar itself runs as well: whichever of the two connects
   * takes the place of the other at that controller, which then returns.
   */
  async function listen(): Promise<{ readonly told: readonly Told[]; readonly close: () => void }> {
    const file = await filesOf(pods[1])
    const chain = file('sds_cert.pem')
    const nodeId = /CN=(.+)/.exec(new X509Certificate(chain).subject)?.[1] ?? ''
    const serverName = /"?sni"?: ?"?([^"\s,]+)/.exec(file('bootstrap.yaml'))?.[1] ?? ''
    const connections = (await mesh.endpoints('osm-controller')).map((address) => {
      const resources = new Map<string, string>()
      let stop = (): void => undefined
      let isOpen = true
      const connectTo = (): void => {
        resources.clear()
        let hasEnded = false
        const client = new AdsClient({
          target: `${address}:15128`,
          serverName,
          roots: file('cacert.pem'),
          chain,
          privateKey: file('sds_key.pem'),
          nodeId,
          secrets: [certificateName, rootsName],
          onError: () => {
            if (!isOpen || hasEnded) return
            hasEnded = true
            client.close()
            const again = setTimeout(connectTo, 100)
            stop = () => {
              clearTimeout(again)
            }
          },
          onResponse: ({ typeUrl, resources: updated, removedResources }) => {
            for (const { name, resource } of updated)
              resources.set(`${typeUrl} ${name}`, Buffer.from(resource?.value ?? []).toString('base64'))
            for (const name of removedResources) resources.delete(`${typeUrl} ${name}`)
          },
        })
        stop = () => {
          client.close()
        }
      }
      connectTo()
      return {
        resources,
        close: () => {
          isOpen = false
          stop()
        },
      }
    })
    return {
      told: connections.map(({ resources }) => resources),
      close: () => {
        for (const connection of connections) connection.close()
      },
    }
  }

  it('tell a proxy the same, byte for byte', async () => {
    const { told, close } = await listen()
    try {
      expect(told).toHaveLength(2)
      // Clusters, endpoints, listeners, connection managers, routes and the secret.
      const types = (resources: Told): number => new Set([...resources.keys()].map((key) => key.split(' ')[0])).size
      await eventually(
        () => told.map(types),
        (counts) => counts.every((count) => count === 6),
      )
      // Each controller issues its own leaf; see below.
      const policies = (): readonly object[] =>
        told.map((resources) => Object.fromEntries([...resources].filter(([key]) => !key.startsWith(SECRET))))
      // Changes reach them at their own times.
      const [one = {}] = await eventually(policies, ([first, second]) => isDeepStrictEqual(first, second), {
        what: 'the same from both controllers',
      })
      expect(Object.keys(one).join(' ')).toContain(`${shop}/server`)
    } finally {
      close()
    }
  })

  it('issue the certificates of workloads by one authority', async () => {
    const stored = await server.api.get(
      resourceTypes.Secret,
      { namespace: mesh.namespace, name: 'osm-ca-bundle' },
      signal,
    )
    const root = new X509Certificate(Buffer.from((stored?.data as Data)['ca.crt'] ?? '', 'base64'))
    const { told, close } = await listen()
    try {
      const secrets = await eventually(
        () => told.map((resources) => resources.get(`${SECRET} ${certificateName}`)),
        (found) => !found.includes(undefined),
      )
      const leaves = secrets.map((secret = '') => leafOf(Buffer.from(secret, 'base64')))
      expect(leaves.map((leaf) => leaf.verify(root.publicKey))).toEqual([true, true])
    } finally {
      close()
    }
  })

  it('take up another root of the workloads, and have sidecars trust both', async () => {
    const { told, close } = await listen()
    try {
      await eventually(
        () => told.map((resources) => resources.has(`${SECRET} ${certificateName}`)),
        (found) => !found.includes(false),
      )
      const [before, after] = await replaceRoot('workload')
      const secrets = (name: string): readonly Buffer[] =>
        told.map((resources) => Buffer.from(resources.get(`${SECRET} ${name}`) ?? '', 'base64'))
      await eventually(
        () => ({ leaves: secrets(certificateName), roots: secrets(rootsName).map(String) }),
        ({ leaves, roots }) =>
          leaves.every((leaf) => leaf.length > 0 && leafOf(leaf).verify(after.publicKey)) &&
          roots.every((pem) => [after, before].every((root) => pem.includes(root.toString()))),
        { timeoutMs: REPLACED_MS, what: 'certificates of the new root, and trust in both' },
      )
    } finally {
      close()
    }
  })

  it('take up another root of the control plane without refusing a pod', async () => {
    const [before, after] = await replaceRoot('control-plane')
    const servers = [
      ...(await mesh.endpoints('osm-injector')).map((address) => [address, 9090] as const),
      ...(await mesh.endpoints('osm-validator')).map((address) => [address, 9093] as const),
      ...(await mesh.endpoints('osm-controller')).map((address) => [address, 15128] as const),
    ]
    expect(servers).toHaveLength(6)
    let count = 0
    await eventually(
      async () => {
        const manifest = clientPod({ namespace: shop, name: `during-${String(count++)}`, serviceAccountName: 'client' })
        await server.api.create(resourceTypes.Pod, manifest, { signal, dryRun: true })
        return Promise.all(servers.map(([address, port]) => shownBy(address, port)))
      },
      (shown) => shown.every((certificate) => certificate?.verify(after.publicKey)),
      { timeoutMs: REPLACED_MS, everyMs: 250, what: 'servers with certificates of the new root' },
    )
    const pod = await create(
      resourceTypes.Pod,
      clientPod({ namespace: shop, name: 'afterwards', serviceAccountName: 'client' }),
    )
    const file = await filesOf(pod as unknown as Pod)
    expect(pemCertificates(file('cacert.pem'))).toEqual([after, before].map((root) => root.toString().trim()))
    expect(new X509Certificate(file('sds_cert.pem')).verify(after.publicKey)).toBe(true)
  })

  it('have one leader between them', async () => {
    const lease = await server.api.get(
      resourceTypes.Lease,
      { namespace: mesh.namespace, name: 'osm-controller-twice' },
      signal,
    )
    const { holderIdentity } = lease?.spec as { readonly holderIdentity: string }
    expect(cluster.pods(mesh.namespace).filter(({ name }) => holderIdentity.includes(name))).toHaveLength(1)
  })
})
