import { afterAll, beforeAll, describe } from '@jest/globals'
import { denied, works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'
import type { TestNamespace } from '../support/test-namespace.js'
import { deployment, server } from '../support/workloads.js'

const setUpTimeoutMs = 540_000
const prefix = 'openservicemesh.io'

let cluster: SharedCluster
let mesh: Mesh
let meshed: TestNamespace
let outside: TestNamespace
let address: string
let otherAddress: string

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run)

const client = (name: string, annotations: Readonly<Record<string, string>> = {}): readonly object[] =>
  deployment({ name, namespace: meshed.name, image: meshed.image, annotations })
const addressOf = async (name: string): Promise<string> => (await outside.pods(name))[0]!.status.podIP

beforeAll(async () => {
  cluster = SharedCluster.open()
  mesh = await Mesh.install(cluster, { name: 'bypass' })
  ;[meshed, outside] = await Promise.all([
    mesh.createNamespace('bypass-meshed'),
    mesh.createOutsideNamespace('bypass-outside'),
  ])
  const { name: namespace, image } = outside
  await outside.run(
    server({ name: 'server', namespace, image, ports: { 8080: 'http', 8081: 'http' } }),
    server({ name: 'other', namespace, image, ports: { 8080: 'http' } }),
    deployment({ name: 'stranger', namespace, image }),
  )
  ;[address, otherAddress] = await Promise.all([addressOf('server'), addressOf('other')])
  await meshed.run(
    client('plain'),
    client('by-range', { [`${prefix}/outbound-ip-range-exclusion-list`]: `${address}/32` }),
    client('by-inclusion', { [`${prefix}/outbound-ip-range-inclusion-list`]: `${otherAddress}/32` }),
    client('by-port', { [`${prefix}/outbound-port-exclusion-list`]: '8081' }),
    server({
      name: 'guarded',
      namespace: meshed.name,
      image,
      ports: { 8080: 'http', 8081: 'http' },
      annotations: { [`${prefix}/inbound-port-exclusion-list`]: '8081' },
    }),
  )
}, setUpTimeoutMs)

afterAll(async () => {
  await mesh.uninstall()
}, setUpTimeoutMs)

describe('ip_exclusion: connections to excluded ranges bypass the sidecar', () => {
  test('of a pod, by its annotations, and of no other', async () => {
    await denied(meshed.caller('deploy/plain'), `http://${address}:8080/`)
    await works(meshed.caller('deploy/by-range'), `http://${address}:8080/`)
    await denied(meshed.caller('deploy/by-range'), `http://${otherAddress}:8080/`)
    await works(meshed.caller('deploy/by-inclusion'), `http://${address}:8080/`)
    await denied(meshed.caller('deploy/by-inclusion'), `http://${otherAddress}:8080/`)
  })

  test('of pods that start while the MeshConfig says so', async () => {
    await mesh.patchMeshConfig({ traffic: { outboundIPRangeExclusionList: [`${address}/32`] } })
    await meshed.run(client('late-range'))
    await works(meshed.caller('deploy/late-range'), `http://${address}:8080/`)
    await denied(meshed.caller('deploy/late-range'), `http://${otherAddress}:8080/`)
    await mesh.patchMeshConfig({ traffic: { outboundIPRangeExclusionList: [] } })
  })
})

describe('port_exclusion: connections to excluded ports bypass the sidecar', () => {
  test('of a pod, by its annotation', async () => {
    await works(meshed.caller('deploy/by-port'), `http://${address}:8081/`)
    await denied(meshed.caller('deploy/by-port'), `http://${address}:8080/`)
  })

  test('of pods that start while the MeshConfig says so', async () => {
    await mesh.patchMeshConfig({ traffic: { outboundPortExclusionList: [8081] } })
    await meshed.run(client('late-port'))
    await works(meshed.caller('deploy/late-port'), `http://${address}:8081/`)
    await denied(meshed.caller('deploy/late-port'), `http://${address}:8080/`)
    await mesh.patchMeshConfig({ traffic: { outboundPortExclusionList: [] } })
  })

  test('into a pod, by its annotation', async () => {
    const stranger = outside.caller('deploy/stranger')
    await works(stranger, 'http://guarded.bypass-meshed:8081/')
    await denied(stranger, 'http://guarded.bypass-meshed:8080/')
  })
})
