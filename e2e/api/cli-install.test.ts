import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { customResourceDefinitions, type KubernetesObject, type ResourceType, resourceTypes } from '@osm-ts/kubernetes'

import { programsFrom, startApiServer, type OwnApiServer } from './harness/index.js'
import { ClusterStandIn, prepareImages } from './stand-in/index.js'
import { osmAtTerminal, osmProgram, type OsmProgram } from './support/osm-program.js'

const signal = AbortSignal.timeout(500_000)
const testTimeoutMs = 120_000
const system = 'osm-system'
const waitAtMost = ['--timeout', '90s'] as const
const caSecrets = ['osm-ca-bundle', 'osm-ca-bundle-control-plane']
const crds = customResourceDefinitions().map(({ metadata }) => metadata.name)

/** The CRDs of the cluster come and go here: it has an API server of its own. */
describe('a mesh by osm install', () => {
  let own: OwnApiServer
  let cluster: ClusterStandIn
  let osm: OsmProgram
  let typing: ReturnType<typeof osmAtTerminal>

  const get = (type: ResourceType, name: string, namespace = ''): Promise<KubernetesObject | undefined> =>
    own.client.api.get(type, { namespace, name }, signal)
  const controller = (namespace = system) => get(resourceTypes.Deployment, 'osm-controller', namespace)
  const controllerArgs = async (): Promise<readonly string[]> => {
    const found = (await controller()) as unknown as {
      readonly spec: {
        readonly template: { readonly spec: { readonly containers: readonly { readonly args: string[] }[] } }
      }
    }
    return found.spec.template.spec.containers[0]?.args ?? []
  }
  const present = async (type: ResourceType, names: readonly string[], namespace = ''): Promise<readonly string[]> => {
    const found = await Promise.all(names.map((name) => get(type, name, namespace)))
    return found.flatMap((object) => object?.metadata.name ?? [])
  }

  beforeAll(async () => {
    own = await startApiServer(programsFrom(process.env), signal)
    const server = own.client
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    for (const namespace of [system, 'second-system', 'broken-system']) cluster.adopt(namespace, { controlPlane: true })
    const options = { kubeconfig: server.kubeconfigPath, home: server.folder }
    osm = osmProgram(options)
    typing = osmAtTerminal(options)
  }, testTimeoutMs)

  afterAll(async () => {
    await cluster.stop()
    await own.stop()
  })

  it('is not there before', async () => {
    await expect(osm('mesh', 'list')).resolves.toEqual({
      code: 0,
      stdout: 'No osm mesh control planes found\n',
      stderr: '',
    })
    await expect(osm('version')).resolves.toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^CLI Version: \S+.*\nUnable to find OSM control plane in the cluster\n$/),
    })
    await expect(osm('uninstall', 'mesh', '--force')).resolves.toMatchObject({
      code: 0,
      stdout: 'No OSM control planes found\n',
    })
    const { code, stderr } = await osm('mesh', 'upgrade')
    expect([code, stderr]).toEqual([1, expect.stringContaining('there is no mesh [osm] in namespace [osm-system]')])
  })

  it(
    'comes with its namespace, the values that were set, and word of how its pods get on',
    async () => {
      const answer = await osm(
        'install',
        ...[
          '--set',
          'osm.enablePermissiveTrafficPolicy=false',
          '--set',
          'osm.controllerLogLevel=debug,osm.enableEgress=false',
        ],
        ...waitAtMost,
      )
      expect({ ...answer, stderr: '' }).toEqual({
        code: 0,
        stdout: 'OSM installed successfully in namespace [osm-system] with mesh name [osm]\n',
        stderr: '',
      })
      expect(answer.stderr).toMatch(/^osm: install of mesh osm in namespace osm-system by helm v/)
      expect(answer.stderr).toMatch(/^osm: pod osm-controller-\S+: Running, ready$/m)
      expect((await controller())?.metadata.labels).toMatchObject({ meshName: 'osm', enforceSingleMesh: 'true' })
      await expect(controllerArgs()).resolves.toContain('--verbosity=debug')
      await expect(get(resourceTypes.MeshConfig, 'osm-mesh-config', system)).resolves.toMatchObject({
        spec: { traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false } },
      })
    },
    testTimeoutMs,
  )

  it('is listed with its version, its namespaces and the versions of SMI that it reads', async () => {
    await cluster.createNamespace('install-shop', { labels: { 'openservicemesh.io/monitored-by': 'osm' } })
    const { code, stdout } = await osm('mesh', 'list', '-p', '9999')
    expect(code).toBe(0)
    const lines = stdout.split('\n').map((line) => line.split(/ {2,}/))
    expect(lines).toContainEqual(['MESH NAME', 'MESH NAMESPACE', 'VERSION', 'ADDED NAMESPACES'])
    expect(lines).toContainEqual(['osm', 'osm-system', expect.stringMatching(/^\d/), 'install-shop'])
    expect(lines).toContainEqual(['MESH NAME', 'MESH NAMESPACE', 'SMI SUPPORTED'])
    expect(lines).toContainEqual([
      'osm',
      'osm-system',
      expect.stringMatching(/HTTPRouteGroup:v1alpha4.*TrafficTarget:/),
    ])
    expect(stdout).toContain('kubectl get pods -n <osm-mesh-namespace> -l app=osm-controller')
    const json = JSON.parse((await osm('mesh', 'list', '-o', 'json')).stdout) as unknown
    expect(json).toEqual([
      expect.objectContaining({ meshName: 'osm', namespace: system, namespaces: ['install-shop'] }),
    ])
  })

  it('tells its version itself', async () => {
    const version = (await controller())?.metadata.labels?.['app.kubernetes.io/version']
    const { code, stdout, stderr } = await osm('version')
    expect([code, stderr]).toEqual([0, ''])
    const rows = stdout.split('\n').map((line) => line.split(/ {2,}/))
    expect(rows).toContainEqual(['MESH NAME', 'MESH NAMESPACE', 'VERSION', 'GIT COMMIT', 'BUILD DATE'])
    expect(rows).toContainEqual(['osm', system, version, expect.any(String), expect.any(String)])
    const json = JSON.parse((await osm('version', '-o', 'json')).stdout) as unknown
    expect(json).toMatchObject({ cli: { version }, meshes: [{ meshName: 'osm', answered: true, version }] })
  })

  it('lets no other mesh in, of its name, in its namespace, or at all', async () => {
    const again = await osm('install')
    expect(again).toMatchObject({ code: 1, stdout: '' })
    expect(again.stderr).toMatch(/mesh "osm" in namespace osm-system is installed already.*\[OSM_CLI_OBSTACLE\]\n/)
    const other = await osm('install', '--mesh-name', 'second', '--osm-namespace', 'second-system')
    expect(other.stderr).toContain('mesh "osm" in namespace osm-system was installed as the only mesh of the cluster')
    const namesake = await osm('install', '--osm-namespace', 'second-system', '--enforce-single-mesh=false')
    expect(namesake.stderr).toContain('and both would claim the same namespaces')
    await expect(get(resourceTypes.Namespace, 'second-system')).resolves.toBeUndefined()
  })

  it(
    'is upgraded to what is set then, and to nothing that was set before',
    async () => {
      const upgraded = await osm('mesh', 'upgrade', '--set', 'osm.enforceSingleMesh=false', ...waitAtMost)
      expect({ ...upgraded, stderr: '' }).toEqual({
        code: 0,
        stdout: 'OSM successfully upgraded mesh [osm] in namespace [osm-system]\n',
        stderr: '',
      })
      await expect(controllerArgs()).resolves.toContain('--verbosity=info')
      expect((await controller())?.metadata.labels).not.toHaveProperty('enforceSingleMesh')
      await expect(get(resourceTypes.MeshConfig, 'osm-mesh-config', system)).resolves.toMatchObject({
        spec: { traffic: { enablePermissiveTrafficPolicyMode: false } },
      })
    },
    testTimeoutMs,
  )

  it(
    'that does not become ready is told with the pods that keep it, and removed if that was asked for',
    async () => {
      const elsewhere = [
        '--mesh-name',
        'broken',
        '--osm-namespace',
        'broken-system',
        '--enforce-single-mesh=false',
      ] as const
      const { code, stdout, stderr } = await osm(
        'install',
        ...elsewhere,
        ...['--atomic', '--timeout', '8s', '--set', 'osm.image.name.osmInjector=no-such-image'],
      )
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toMatch(/^Status for pod osm-injector-\S+ in namespace broken-system:$/m)
      expect(stderr).toMatch(/helm install failed: .*\[OSM_CLI_HELM\]/s)
      await expect(controller('broken-system')).resolves.toBeUndefined()
    },
    testTimeoutMs,
  )

  describe('beside another', () => {
    beforeAll(async () => {
      const flags = [
        '--mesh-name',
        'second',
        '--osm-namespace',
        'second-system',
        '--enforce-single-mesh=false',
      ] as const
      await expect(osm('install', ...flags, ...waitAtMost)).resolves.toMatchObject({ code: 0 })
    }, testTimeoutMs)

    it('is not uninstalled where no one can be asked, nor where it is not clear which is meant', async () => {
      const piped = await osm('uninstall', 'mesh')
      expect(piped).toMatchObject({ code: 1, stderr: expect.stringContaining('skip the confirmation with --force') })
      const forced = await osm('uninstall', 'mesh', '--force')
      expect(forced).toMatchObject({ code: 1, stderr: expect.stringContaining('[osm] in [osm-system], [second] in') })
      const missing = await osm('uninstall', 'mesh', '--mesh-name', 'third', '--force')
      expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no mesh [third]') })
      expect((await osm('mesh', 'list')).stdout).toMatch(/^osm .*^second /ms)
    })

    it('is not uninstalled unless somebody says so, for each mesh, in three tries', async () => {
      const { code, shown } = await typing(['n', 'perhaps', '', 'what'], 'uninstall', 'mesh', '-a')
      expect(code).toBe(0)
      expect(shown).toContain('List of meshes present in the cluster:')
      expect(shown).toMatch(/Uninstall OSM \[mesh name: osm\] in namespace \[osm-system\], .*CRDs\? \[y\/n\]: /)
      expect(shown.split('Uninstall OSM [mesh name: second] in namespace [second-system]')).toHaveLength(4)
      expect((await osm('mesh', 'list')).stdout).toMatch(/^osm .*^second /ms)
      await expect(present(resourceTypes.CustomResourceDefinition, crds)).resolves.toEqual(crds)
    })

    it(
      'goes alone, and leaves the other everything that it needs',
      async () => {
        const { code, shown } = await typing(
          ['y'],
          'uninstall',
          'mesh',
          '--mesh-name',
          'second',
          '-a',
          '--delete-namespace',
        )
        expect({ code, shown }).toMatchObject({ code: 0 })
        expect(shown).toContain('OSM [mesh name: second] in namespace [second-system] uninstalled\n')
        expect(shown).toContain('OSM namespace [second-system] is being deleted, with everything in it\n')
        expect(shown).toContain('they are in use by mesh [osm] in namespace [osm-system]\n')
        expect(shown).toContain('Successfully deleted OSM secret: osm-ca-bundle in namespace second-system\n')
        await expect(present(resourceTypes.CustomResourceDefinition, crds)).resolves.toEqual(crds)
        await expect(present(resourceTypes.Secret, caSecrets, system)).resolves.toEqual(caSecrets)
        await expect(present(resourceTypes.Secret, caSecrets, 'second-system')).resolves.toEqual([])
        await expect(
          present(resourceTypes.MutatingWebhookConfiguration, ['osm-webhook-osm', 'osm-webhook-second']),
        ).resolves.toEqual(['osm-webhook-osm'])
        expect((await controller())?.metadata.name).toBe('osm-controller')
      },
      testTimeoutMs,
    )
  })

  it(
    'goes with everything of the cluster when that is asked for, and once more with nothing left',
    async () => {
      const { code, stdout } = await osm('uninstall', 'mesh', '-f', '-a')
      expect({ code, stdout }).toMatchObject({ code: 0 })
      expect(stdout).toContain('OSM [mesh name: osm] in namespace [osm-system] uninstalled\n')
      for (const crd of crds) expect(stdout).toContain(`Successfully deleted OSM CRD: ${crd}\n`)
      for (const secret of caSecrets)
        expect(stdout).toContain(`Successfully deleted OSM secret: ${secret} in namespace osm-system\n`)
      expect(stdout).toContain('Ignoring - did not find any OSM MutatingWebhookConfigurations of mesh [osm]')
      await expect(present(resourceTypes.Secret, caSecrets, system)).resolves.toEqual([])
      await expect(controller()).resolves.toBeUndefined()

      const again = await osm('uninstall', 'mesh', '-f', '-a', '--delete-namespace')
      expect(again.code).toBe(0)
      expect(again.stdout).toContain('No OSM control planes found\n')
      expect(again.stdout).toContain('OSM namespace [osm-system] is being deleted, with everything in it\n')
      expect(again.stdout).toContain('Ignoring - did not find OSM secret: osm-ca-bundle in namespace osm-system\n')
    },
    testTimeoutMs,
  )
})
