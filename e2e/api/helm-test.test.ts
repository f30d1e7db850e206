import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { sharedApiServer, type ApiServer } from './harness/index.js'
import { ClusterStandIn, helm, InstalledMesh, prepareImages } from './stand-in/index.js'

const signal = AbortSignal.timeout(300_000)

describe('helm test', () => {
  let server: ApiServer
  let cluster: ClusterStandIn
  let mesh: InstalledMesh

  beforeAll(async () => {
    server = await sharedApiServer()
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    mesh = await InstalledMesh.install({ server, cluster, name: 'tested' })
  })

  afterAll(async () => {
    await mesh.uninstall()
    await cluster.stop()
  })

  const test = (timeout: string): Promise<string> =>
    helm(server, ['test', mesh.name, '--namespace', mesh.namespace, '--timeout', timeout])

  it('succeeds while controller, injector and bootstrap are ready', async () => {
    const outcome = await test('60s').catch((error: unknown) => `${String(error)}\n${cluster.report()}`)
    expect(outcome).toMatch(/Phase:\s+Succeeded/)
  })

  it('fails while one of them is not', async () => {
    await mesh.scale('osm-injector', 0)
    await expect(test('10s')).rejects.toThrow('osm-control-plane-health')
  })
})
