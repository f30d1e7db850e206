import { describe, expect, it } from '@jest/globals'
import { customResourceDefinitions, KubernetesError, resourceTypes } from '@osm-ts/kubernetes'

import { MemoryCluster } from '../../test/memory-cluster.js'
import type { CheckContext } from './check.js'
import { installChecks, runChecks, upgradeChecks } from './run-checks.js'

const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'

function emptyCluster(): MemoryCluster {
  const cluster = new MemoryCluster()
  cluster.documents.set(REVIEWS, { status: { allowed: true } })
  return cluster
}

async function check(
  cluster: MemoryCluster,
  options: Partial<CheckContext> = {},
  checks = installChecks,
): Promise<{ readonly passed: boolean; readonly text: string }> {
  const printed: string[] = []
  const context: CheckContext = {
    api: cluster,
    meshName: 'osm',
    namespace: 'osm-system',
    enforceSingleMesh: false,
    availableClasses: ['envoy'],
    definitions: customResourceDefinitions(),
    signal: AbortSignal.timeout(10_000),
    ...options,
  }
  const passed = await runChecks(checks, context, (text) => printed.push(text))
  return { passed, text: printed.join('') }
}

function installMesh(cluster: MemoryCluster, namespace: string, labels: Readonly<Record<string, string>>): void {
  cluster.put(resourceTypes.Deployment, {
    metadata: { namespace, name: 'osm-controller', labels: { app: 'osm-controller', ...labels } },
  })
}

describe('the checks before an installation', () => {
  it('find nothing in an empty cluster, and say each', async () => {
    const { passed, text } = await check(emptyCluster(), { enforceSingleMesh: true })
    expect(passed).toBe(true)
    expect(text.split('\n').filter(Boolean)).toEqual(installChecks.map(({ name }) => `[ok] ${name}`))
  })

  it('find a sidecar class without a driver, whatever its letters', async () => {
    const { passed, text } = await check(emptyCluster(), { sidecarClass: 'pipy', availableClasses: ['envoy', 'other'] })
    expect(passed).toBe(false)
    expect(text).toContain(
      'sidecar class "pipy" has no driver in this version\n  -> set osm.sidecarClass to one of: envoy, other',
    )
    await expect(check(emptyCluster(), { sidecarClass: 'Envoy' })).resolves.toMatchObject({ passed: true })
  })

  it('find that cert-manager is missing where it is to sign, before an upgrade too', async () => {
    const cluster = emptyCluster()
    const context = { certificateManager: 'cert-manager' }
    for (const checks of [installChecks, upgradeChecks])
      expect(await check(cluster, context, checks)).toMatchObject({
        passed: false,
        text: expect.stringContaining('does not serve certificaterequests of cert-manager.io/v1'),
      })
    await expect(check(cluster, { certificateManager: 'vault' })).resolves.toMatchObject({ passed: true })
    cluster.put(resourceTypes.CustomResourceDefinition, {
      metadata: { name: 'certificaterequests.cert-manager.io' },
      spec: { versions: [{ name: 'v1', served: true }] },
    })
    await expect(check(cluster, context)).resolves.toMatchObject({ passed: true })
  })

  it('do not mind the mesh that is to be upgraded', async () => {
    const cluster = emptyCluster()
    installMesh(cluster, 'osm-system', { meshName: 'osm', enforceSingleMesh: 'true' })
    const context = { sidecarClass: 'envoy', enforceSingleMesh: true }
    await expect(check(cluster, context)).resolves.toMatchObject({ passed: false })
    await expect(check(cluster, context, upgradeChecks)).resolves.toMatchObject({ passed: true })
    await expect(check(cluster, { ...context, sidecarClass: 'pipy' }, upgradeChecks)).resolves.toMatchObject({
      passed: false,
    })
  })

  it('find a mesh in the namespace', async () => {
    const cluster = emptyCluster()
    installMesh(cluster, 'osm-system', { meshName: 'first' })
    const { passed, text } = await check(cluster)
    expect(passed).toBe(false)
    expect(text).toContain(
      '[failed] no mesh in the namespace\n  mesh "first" in namespace osm-system is installed already\n',
    )
    expect(text).toContain('helm list -n osm-system')
    expect(text).toContain('1 of 8 checks failed; nothing was changed')
  })

  it('find another mesh only where one of the two is to be alone', async () => {
    const cluster = emptyCluster()
    installMesh(cluster, 'elsewhere', { meshName: 'first' })
    expect((await check(cluster)).passed).toBe(true)
    expect(await check(cluster, { enforceSingleMesh: true })).toMatchObject({
      passed: false,
      text: expect.stringContaining('this mesh shall be the only one of the cluster, and there is mesh "first"'),
    })
    installMesh(cluster, 'third', { meshName: 'alone', enforceSingleMesh: 'true' })
    expect(await check(cluster)).toMatchObject({
      passed: false,
      text: expect.stringContaining('mesh "alone" in namespace third was installed as the only mesh'),
    })
  })

  it('find a name that is taken, and what a mesh of the name has left', async () => {
    const cluster = emptyCluster()
    cluster.put(resourceTypes.MutatingWebhookConfiguration, {
      metadata: {
        name: 'osm-webhook-osm',
        labels: { 'app.kubernetes.io/name': 'openservicemesh.io', 'app.kubernetes.io/instance': 'osm' },
      },
      webhooks: [{ name: 'a', clientConfig: { service: { namespace: 'elsewhere', name: 'osm-injector' } } }],
    })
    expect(await check(cluster)).toMatchObject({
      passed: false,
      text: expect.stringContaining('kubectl delete mutatingwebhookconfigurations osm-webhook-osm'),
    })
    // Of the same namespace: the mesh is installed again.
    expect((await check(cluster, { namespace: 'elsewhere' })).passed).toBe(true)
    installMesh(cluster, 'elsewhere', { meshName: 'osm' })
    const { text } = await check(cluster)
    expect(text).toContain('both would claim the same namespaces')
    expect(text).not.toContain('kubectl delete')
  })

  it('find definitions of another tool that do not serve what the mesh reads', async () => {
    const cluster = emptyCluster()
    const [ours] = customResourceDefinitions().filter(({ spec }) => spec.names.kind === 'TrafficSplit')
    const name = ours?.metadata.name ?? ''
    const versions = (served: boolean) => [{ name: 'v1alpha4', served, storage: true }]
    const foreign = (served: boolean) => ({ metadata: { name }, spec: { ...ours?.spec, versions: versions(served) } })
    cluster.put(resourceTypes.CustomResourceDefinition, foreign(true))
    expect((await check(cluster)).passed).toBe(true)
    cluster.put(resourceTypes.CustomResourceDefinition, foreign(false))
    expect((await check(cluster)).text).toContain(`kubectl label crd ${name} app.kubernetes.io/name=openservicemesh.io`)
  })

  it.each([
    [{ major: '1', minor: '22', gitVersion: 'v1.22.1' }, false],
    [{ major: '1', minor: '23' }, true],
    [{ major: '1', minor: '28+' }, true],
    [{}, false],
  ])('read the version %j', async (version, passed) => {
    const cluster = emptyCluster()
    cluster.documents.set('/version', version)
    expect((await check(cluster)).passed).toBe(passed)
  })

  it('say which permission is missing', async () => {
    const cluster = emptyCluster()
    cluster.documents.set(REVIEWS, { status: { allowed: false } })
    const { passed, text } = await check(cluster)
    expect(passed).toBe(false)
    expect(text).toContain('the account of osm-preinstall may not list deployments of group apps in the whole cluster')
    expect(text).toContain('verb get and resource customresourcedefinitions')
  })

  it('do not take what they could not see for an empty cluster', async () => {
    const cluster = emptyCluster()
    cluster.before = () => {
      throw new KubernetesError('OSM_KUBERNETES_FORBIDDEN', 'may not', { status: 403 })
    }
    const { passed, text } = await check(cluster)
    expect(passed).toBe(false)
    expect(text).toContain('could not be checked: may not [OSM_KUBERNETES_FORBIDDEN]')
    expect(text).toContain('4 of 8 checks failed')
  })
})
