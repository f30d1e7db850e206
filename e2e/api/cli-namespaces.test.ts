import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'

import { sharedApiServer, type ApiServer } from './harness/index.js'
import { controllerDeployment, MeshObjects } from './support/mesh-objects.js'
import { osmProgram, type OsmProgram } from './support/osm-program.js'

const signal = AbortSignal.timeout(200_000)
const shop = 'cli-shop'
const office = 'cli-office'
const system = 'cli-osm-system'

describe('osm namespace and osm metrics', () => {
  let server: ApiServer
  let api: KubernetesApi
  let objects: MeshObjects
  let osm: OsmProgram

  const texts = async (name: string) => {
    const namespace = await api.get(resourceTypes.Namespace, { namespace: '', name }, signal)
    const { labels = {}, annotations = {} } = namespace?.metadata ?? {}
    const ours = (entries: object): object =>
      Object.fromEntries(Object.entries(entries).filter(([key]) => key.startsWith('openservicemesh.io/')))
    return { labels: ours(labels), annotations: ours(annotations) }
  }
  const scrape = async (name: string) => {
    const pod = await api.get(resourceTypes.Pod, { namespace: shop, name }, signal)
    const entries = Object.entries(pod?.metadata.annotations ?? {})
    return Object.fromEntries(entries.filter(([key]) => key.startsWith('prometheus.io/')))
  }

  beforeAll(async () => {
    server = await sharedApiServer()
    ;({ api } = server)
    objects = new MeshObjects(api, signal)
    osm = osmProgram({ kubeconfig: server.kubeconfigPath })
    for (const name of [shop, office, system]) await objects.namespace(name, {})
    await objects.apply(JSON.stringify(controllerDeployment(system, 'cli')))
  })

  afterAll(async () => {
    await objects.remove('Deployment', system, 'osm-controller')
  })

  it('enrols namespaces, and says of each that it did', async () => {
    await expect(osm('namespace', 'add', shop, office, '--mesh-name', 'cli')).resolves.toEqual({
      code: 0,
      stdout:
        `Namespace [${shop}] successfully added to mesh [cli]\n` +
        `Namespace [${office}] successfully added to mesh [cli]\n`,
      stderr: '',
    })
    await expect(texts(shop)).resolves.toEqual({
      labels: { 'openservicemesh.io/monitored-by': 'cli' },
      annotations: { 'openservicemesh.io/sidecar-injection': 'enabled' },
    })
  })

  it('turns injection off where it is told to', async () => {
    await osm('namespace', 'add', office, '--mesh-name', 'cli', '--disable-sidecar-injection')
    await expect(texts(office)).resolves.toMatchObject({
      annotations: { 'openservicemesh.io/sidecar-injection': 'disabled' },
    })
  })

  it('lists them, as a table and as JSON', async () => {
    const { stdout } = await osm('namespace', 'list', '--mesh-name', 'cli')
    expect(stdout.split('\n').map((line) => line.split(/\s+/))).toEqual([
      ['NAMESPACE', 'MESH', 'SIDECAR-INJECTION'],
      [office, 'cli', 'disabled'],
      [shop, 'cli', 'enabled'],
      [''],
    ])
    const { stdout: json } = await osm('namespace', 'list', '--mesh-name', 'cli', '-o', 'json')
    expect(JSON.parse(json)).toContainEqual({ namespace: shop, mesh: 'cli', sidecarInjection: 'enabled' })
    await expect(osm('namespace', 'list', '--mesh-name', 'cli-other')).resolves.toMatchObject({
      code: 0,
      stdout: 'No namespaces in mesh [cli-other]\n',
    })
  })

  it('refuses the namespace of a control plane, one of another mesh, and one that does not exist', async () => {
    for (const [name, reason] of [
      [system, 'contains a control plane'],
      [shop, 'belongs to mesh [cli]'],
      ['cli-nowhere', 'there is no namespace [cli-nowhere]'],
    ] as const) {
      const { code, stdout, stderr } = await osm('namespace', 'add', name, '--mesh-name', 'cli-other')
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toContain(reason)
      expect(stderr).toContain('[OSM_CLI_NAMESPACE]')
    }
    await expect(texts(system)).resolves.toEqual({ labels: {}, annotations: {} })
  })

  it('has pods that run scraped, those of sidecars alone, and ends it', async () => {
    const pod = { namespace: shop, account: 'app', meshName: 'cli' }
    await objects.pod({ ...pod, name: 'meshed', address: '10.11.0.1' })
    await objects.apply(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'plain', namespace: shop },
        spec: { serviceAccountName: 'app', containers: [{ name: 'app', image: 'none' }] },
      }),
    )
    await expect(osm('metrics', 'enable', '--namespace', `${shop},${office}`)).resolves.toEqual({
      code: 0,
      stdout:
        `Metrics successfully enabled in namespace [${shop}]\n` +
        `Metrics successfully enabled in namespace [${office}]\n`,
      stderr: '',
    })
    await expect(texts(shop)).resolves.toMatchObject({ annotations: { 'openservicemesh.io/metrics': 'enabled' } })
    await expect(scrape('meshed')).resolves.toEqual({
      'prometheus.io/scrape': 'true',
      'prometheus.io/port': '15010',
      'prometheus.io/path': '/stats/prometheus',
    })
    await expect(scrape('plain')).resolves.toEqual({})

    await osm('metrics', 'disable', '--namespace', shop)
    await expect(texts(shop)).resolves.toEqual({
      labels: { 'openservicemesh.io/monitored-by': 'cli' },
      annotations: { 'openservicemesh.io/sidecar-injection': 'enabled' },
    })
    await expect(scrape('meshed')).resolves.toEqual({})
  })

  it('takes a namespace out of its mesh only, with all that commands wrote on it', async () => {
    await expect(osm('namespace', 'remove', office, '--mesh-name', 'cli-other')).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`Namespace [${office}] belongs to mesh [cli], not to mesh [cli-other]`),
    })
    await expect(osm('namespace', 'remove', office, '--mesh-name', 'cli')).resolves.toEqual({
      code: 0,
      stdout: `Namespace [${office}] successfully removed from mesh [cli]\n`,
      stderr: '',
    })
    await expect(texts(office)).resolves.toEqual({ labels: {}, annotations: {} })
    await expect(osm('metrics', 'enable', '--namespace', office)).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`Namespace [${office}] does not belong to any mesh`),
    })
  })

  it('adds no namespace that is ignored', async () => {
    await expect(osm('namespace', 'ignore', office)).resolves.toMatchObject({ code: 0, stderr: '' })
    await expect(texts(office)).resolves.toMatchObject({ labels: { 'openservicemesh.io/ignore': 'true' } })
    await expect(osm('namespace', 'add', office, '--mesh-name', 'cli')).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`Namespace [${office}] is ignored`),
    })
  })

  it('names the permission that a user lacks', async () => {
    await objects.apply(`apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: guest, namespace: ${shop} }\n`)
    const guest = osmProgram({ kubeconfig: await server.kubeconfigFor({ namespace: shop, name: 'guest' }) })
    const { code, stderr } = await guest('namespace', 'list')
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /cannot list resource "namespaces".*\[OSM_KUBERNETES_FORBIDDEN\]\n {2}request the permission/,
    )
  })

  it('tells anyone who asks a pod that has no sidecar, or that there is none', async () => {
    await expect(osm('proxy', 'get', 'certs', 'plain', '-n', shop)).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`pod ${shop}/plain has no sidecar`),
    })
    await expect(osm('proxy', 'get', 'certs', `${shop}/nobody`, '-n', shop)).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`there is no pod ${shop}/nobody`),
    })
  })

  it('shows the reason a pod that no node runs cannot be reached', async () => {
    const { code, stderr } = await osm('proxy', 'get', 'certs', 'meshed', '-n', shop)
    expect(code).toBe(1)
    expect(stderr).toContain(
      `port-forward to port 15000 of Pod ${shop}/meshed: 400 BadRequest: pod meshed does not have a host assigned`,
    )
  })
})
