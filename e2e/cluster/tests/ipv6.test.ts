import { isIPv6 } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { clusterCommand } from '../harness/cluster-command.mjs'
import { ipv6Obstacle } from '../local/ipv6-probe.js'
import type { ClusterDescription } from '../provider.js'
import { denied, works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { Mesh } from '../support/mesh.js'
import { type LoadedImage, SharedCluster } from '../support/shared-cluster.js'
import { anyHttp, tcpRoute, trafficTarget } from '../support/smi.js'
import type { RunningPod, TestNamespace } from '../support/test-namespace.js'
import { deployment, service } from '../support/workloads.js'

const setUpTimeoutMs = 540_000
// Of a form by which the next run finds what a killed one has left.
const options = ['--name', `l${process.pid}`, '--nodes', '2', '--ip-family', 'dual']

const obstacle = await ipv6Obstacle(new AbortController().signal)

let cluster: SharedCluster
let mesh: Mesh
let shop: TestNamespace
let outside: TestNamespace

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run)

const families = ['IPv4', 'IPv6'] as const
/** A Service that is known by an address of one family alone, so that anyone who calls it does so over that. */
const serviceOf = (family: (typeof families)[number], name: string, app: string): object => {
  const ports = [
    { port: 8080, appProtocol: 'http' },
    { port: 9000, appProtocol: 'tcp' },
  ]
  const made = service({
    name: nameOf(family, name),
    namespace: app === 'stranger' ? outside.name : shop.name,
    ports,
    selector: { app },
  }) as { readonly spec: object }
  return { ...made, spec: { ...made.spec, ipFamilyPolicy: 'SingleStack', ipFamilies: [family] } }
}
const nameOf = (family: string, name: string): string => `${name}-${family.toLowerCase()}`

interface DualPod extends RunningPod {
  readonly status: RunningPod['status'] & { readonly podIPs: readonly { readonly ip: string }[] }
}

/** The address of a family that a pod has. */
const addressOf = async (namespace: TestNamespace, app: string, family: string): Promise<string> => {
  const [pod] = (await namespace.pods(app)) as readonly DualPod[]
  const found = pod!.status.podIPs.find(({ ip }) => isIPv6(ip) === (family === 'IPv6'))
  if (found === undefined) throw new Error(`${app} has no address of ${family}`)
  return isIPv6(found.ip) ? `[${found.ip}]` : found.ip
}

async function makeCluster(): Promise<SharedCluster> {
  const described = (await clusterCommand('up', options)).succeeded() as ClusterDescription
  const { images } = (await clusterCommand('load', options)).succeeded() as { readonly images: readonly LoadedImage[] }
  return SharedCluster.open().beside({ ...described, images })
}

if (obstacle !== undefined) {
  describe('a machine without IPv6', () => {
    it(
      'has no cluster with both families, and says why',
      async () => {
        expect(obstacle).toMatch(/IPv6/)
        const { code } = await clusterCommand('up', options)
        expect(code).toBe(1)
      },
      setUpTimeoutMs,
    )
  })
} else {
  beforeAll(async () => {
    cluster = await makeCluster()
    mesh = await Mesh.install(cluster, { name: 'dual' })
    ;[shop, outside] = await Promise.all([
      mesh.createNamespace('dual-shop'),
      mesh.createOutsideNamespace('dual-outside'),
    ])
    const { name: namespace, image } = shop
    const ports = { 8080: 'http', 9000: 'tcp' }
    const access = { destination: { namespace, name: 'server' }, sources: [{ namespace, name: 'client' }] }
    await Promise.all([
      shop.run(
        ...['client', 'thief'].map((name) => deployment({ name, namespace, image })),
        deployment({ name: 'server', namespace, image, ports }),
        ...families.map((family) => serviceOf(family, 'server', 'server')),
        anyHttp(namespace),
        tcpRoute(namespace, [9000]),
        trafficTarget(access),
        trafficTarget({ ...access, name: 'tcp', rules: [{ kind: 'TCPRoute', name: 'tcp' }] }),
      ),
      outside.run(
        deployment({ name: 'stranger', namespace: outside.name, image, ports }),
        ...families.map((family) => serviceOf(family, 'stranger', 'stranger')),
      ),
    ])
  }, setUpTimeoutMs)

  afterAll(async () => {
    ;(await clusterCommand('down', options)).succeeded()
  }, setUpTimeoutMs)

  describe.each(families)('in a cluster with both families, over %s', (family) => {
    test('who may call gets through by HTTP and TCP, and no one else', async () => {
      const host = `${nameOf(family, 'server')}.dual-shop`
      const [client, thief] = [shop.caller('deploy/client'), shop.caller('deploy/thief')]
      await works(client, `http://${host}:8080/`)
      await works(client, `tcp://${host}:9000`, { send: 'hello' })
      await denied(thief, `http://${host}:8080/`)
      await denied(thief, `tcp://${host}:9000`, { send: 'hello' })
    })

    test('nothing gets past the sidecar of a pod from outside of the mesh', async () => {
      const stranger = outside.caller('deploy/stranger')
      await denied(stranger, `http://${await addressOf(shop, 'server', family)}:8080/`)
      await denied(stranger, `http://${nameOf(family, 'server')}.dual-shop:8080/`)
    })

    test('nothing gets past it to the outside unless MeshConfig lets it', async () => {
      const client = shop.caller('deploy/client')
      const url = `http://${nameOf(family, 'stranger')}.dual-outside:8080/`
      await denied(client, url)
      await mesh.patchMeshConfig({ traffic: { enableEgress: true } })
      await works(client, url)
      await mesh.patchMeshConfig({ traffic: { enableEgress: false } })
      await denied(client, url)
    })
  })
}
