import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { osmProgram, type OsmProgram } from '../../api/support/osm-program.js'
import { works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { underLoad } from '../support/load.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'
import { sidecarOf, TestNamespace } from '../support/test-namespace.js'
import { deployment, server } from '../support/workloads.js'

const chart = fileURLToPath(new URL('../../../charts/osm', import.meta.url))
const testTimeoutMs = 540_000
const installed = 'installed-system'

let cluster: SharedCluster
let osm: OsmProgram

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run, testTimeoutMs)

beforeAll(() => {
  cluster = SharedCluster.open()
  osm = osmProgram({ kubeconfig: cluster.kubeconfig, helm: cluster.helmPath })
})

const removeNamespace = async (name: string): Promise<void> => {
  await cluster.kubectl.run(['delete', 'namespace', name, '--ignore-not-found'], { timeoutMs: testTimeoutMs })
}

describe('helm_install: the chart with nothing but its defaults', () => {
  test('is ready when helm says so, passes its own tests, and is gone when it is uninstalled', async () => {
    const where = ['--namespace', 'osm-system']
    const options = { timeoutMs: testTimeoutMs }
    // By default a mesh wants to be the only one.
    const release = await cluster.locks.claim('meshes')
    try {
      await cluster.helm(['install', 'osm', chart, ...where, '--create-namespace', '--wait', '--timeout=240s'], options)
      await cluster.helm(['test', 'osm', ...where, '--timeout=240s'], options)
      await cluster.helm(['uninstall', 'osm', ...where, '--wait', '--timeout=240s'], options)
    } finally {
      release()
    }
    await removeNamespace('osm-system')
  })
})

describe('osm_reinstall: a mesh that was uninstalled', () => {
  const mesh = ['--mesh-name', 'installed', '--osm-namespace', installed]
  const install = async (): Promise<void> => {
    await expect(osm('install', ...mesh, '--enforce-single-mesh=false')).resolves.toMatchObject({
      code: 0,
      stdout: expect.stringContaining(
        `OSM installed successfully in namespace [${installed}] with mesh name [installed]`,
      ),
    })
  }
  let shop: TestNamespace | undefined

  afterAll(async () => {
    await shop?.delete()
    await removeNamespace(installed)
  }, testTimeoutMs)

  test('can be installed again under its name, and its namespaces are its own still', async () => {
    await install()
    const listed = await osm('mesh', 'list', '-o', 'json')
    const meshes = JSON.parse(listed.stdout) as readonly { readonly meshName: string }[]
    // Those of other files are there at times.
    const own = meshes.filter(({ meshName }) => meshName === 'installed')
    expect(own).toMatchObject([{ meshName: 'installed', namespace: installed }])
    shop = await TestNamespace.create(cluster, 'installed-shop')
    await osm('namespace', 'add', shop.name, '--mesh-name', 'installed')
    await expect(osm('uninstall', 'mesh', '--force', ...mesh)).resolves.toMatchObject({ code: 0 })
    await install()
    const { name: namespace, image } = shop
    await shop.run(
      deployment({ name: 'client', namespace, image }),
      server({ name: 'server', namespace, image, ports: { 8080: 'http' } }),
    )
    await works(shop.caller('deploy/client'), 'http://server:8080/')
    await expect(osm('uninstall', 'mesh', '--force', ...mesh)).resolves.toMatchObject({ code: 0 })
  })
})

describe('upgrade: a chart with other values', () => {
  test('takes its place while requests continue, without the loss of one', async () => {
    const values = { enablePermissiveTrafficPolicy: true }
    const mesh = await Mesh.install(cluster, { name: 'upgraded', values })
    const shop = await mesh.createNamespace('upgraded-shop')
    const { name: namespace, image } = shop
    await shop.run(
      deployment({ name: 'client', namespace, image }),
      server({ name: 'server', namespace, image, ports: { 8080: 'http' }, replicas: 2 }),
    )
    const client = shop.caller('deploy/client')
    const url = 'http://server:8080/'
    await works(client, url)
    const { calls, lost } = await underLoad(client, url, () =>
      mesh.helm('upgrade', { values: { ...values, osmController: { replicaCount: 2 }, controllerLogLevel: 'debug' } }),
    )
    expect(lost).toEqual([])
    expect(calls).toBeGreaterThan(100)
    await shop.run(deployment({ name: 'newcomer', namespace, image }))
    const [pod] = await shop.pods('newcomer')
    expect(sidecarOf(pod!)).toBeDefined()
    await works(shop.caller('deploy/newcomer'), url)
    await mesh.uninstall()
  })
})
