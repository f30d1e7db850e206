import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type KubernetesManifest, resourceTypes } from '@osm-ts/kubernetes'
import { sharedApiServer, type ApiServer } from './harness/index.js'
import { ClusterStandIn, InstalledMesh, prepareImages, type Pod } from './stand-in/index.js'

const signal = AbortSignal.timeout(300_000)
const shop = 'pipy-shop'
const port = 6060

describe('a mesh of class pipy', () => {
  let server: ApiServer
  let cluster: ClusterStandIn
  let mesh: InstalledMesh

  beforeAll(async () => {
    server = await sharedApiServer()
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    mesh = await InstalledMesh.install({ server, cluster, name: 'pipy', values: { sidecarClass: 'pipy' } })
    await mesh.createMonitoredNamespace(shop, [], { runsPods: false })
  })

  afterAll(async () => {
    await mesh.uninstall()
    await cluster.stop()
  })

  it('gives pods Pipy, which takes its scripts from the controller over mutual TLS', async () => {
    const manifest: KubernetesManifest = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: shop, name: 'app' },
      spec: { serviceAccountName: 'default', containers: [{ name: 'app', image: 'localhost/nothing:v1' }] },
    }
    const { spec, metadata } = (await server.api.create(resourceTypes.Pod, manifest, { signal })) as unknown as Pod
    const sidecar = [...(spec.initContainers ?? []), ...spec.containers].find(({ name }) => name === 'sidecar')
    const uuid = metadata.labels?.['osm-proxy-uuid'] ?? ''
    expect(sidecar).toMatchObject({
      image: 'flomesh/pipy:1.5.18',
      // Pipy does not end by itself when it is told to: what is in front of it does that.
      command: ['/bin/sh', '-c', expect.stringContaining('trap '), 'init-wrapper', 'pipy'],
      securityContext: { runAsUser: 1500, readOnlyRootFilesystem: true },
    })
    expect(sidecar?.args).toEqual([
      '--log-level=error',
      `--instance-uuid=${uuid}`,
      expect.stringMatching(/^--instance-name=/),
      '--no-metrics',
      expect.stringMatching(/^--tls-cert=\//),
      expect.stringMatching(/^--tls-key=\//),
      expect.stringMatching(/^--tls-trusted=\//),
      // The second root, while one takes the place of the other.
      expect.stringMatching(/^--tls-trusted=\//),
      `https://osm-controller.pipy-system.svc.cluster.local:${port}/repo/osm-edge-sidecar/${uuid}.sidecar.default.${shop}/`,
    ])
  })

  it('refuses clients without the certificate of a sidecar', async () => {
    const [address = ''] = await mesh.endpoints('osm-controller')
    const plain = connect(port, address)
    await once(plain, 'connect')
    plain.end('GET /repo/ HTTP/1.1\r\nhost: a\r\n\r\n')
    const answer: Buffer[] = []
    plain.on('data', (data: Buffer) => answer.push(data))
    await once(plain, 'close')
    expect(Buffer.concat(answer).toString()).not.toMatch(/HTTP\/1.1 2/)

    const bare = connectTls({ host: address, port, rejectUnauthorized: false })
    await once(bare, 'secureConnect')
    bare.write('GET /repo/ HTTP/1.1\r\nhost: a\r\n\r\n')
    await expect(once(bare, 'data')).rejects.toThrow(/certificate required/)
  })
})
