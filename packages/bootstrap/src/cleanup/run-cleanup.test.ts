import { describe, expect, it } from '@jest/globals'
import { systemClock } from '@osm-ts/core'
import { customResourceDefinitions, KubernetesError, resourceTypes } from '@osm-ts/kubernetes'

import { clusterWithPreset, startBootstrap } from '../../test/bootstrap-fixture.js'
import type { MemoryCluster } from '../../test/memory-cluster.js'
import { type CleanupOptions, runCleanup } from './run-cleanup.js'

const {
  CustomResourceDefinition,
  Deployment,
  Lease,
  MeshConfig,
  MutatingWebhookConfiguration,
  Pod,
  RoleBinding,
  Secret,
  ValidatingWebhookConfiguration,
} = resourceTypes

/** A cluster in which the mesh `osm` was and the mesh `other` is. */
async function uninstalledCluster(): Promise<MemoryCluster> {
  const cluster = clusterWithPreset()
  const bootstrap = startBootstrap(cluster)
  await bootstrap.ready
  await bootstrap.stop()
  for (const mesh of ['osm', 'other']) {
    for (const task of ['bootstrap', 'owned', 'egress', 'certificate']) {
      const name = `osm-${mesh}-${task}-secrets`
      for (const namespace of mesh === 'osm' || task === 'bootstrap' ? ['shop', 'bank'] : [])
        cluster.put(RoleBinding, { metadata: { namespace, name }, roleRef: { kind: 'ClusterRole', name } })
    }
  }
  for (const mesh of ['osm', 'other'])
    cluster.put(Lease, { metadata: { namespace: 'osm-system', name: `osm-controller-${mesh}` } })
  cluster.put(RoleBinding, {
    metadata: { namespace: 'foreign', name: 'osm-osm-bootstrap-secrets' },
    roleRef: { kind: 'ClusterRole', name: 'view' },
  })
  const labels = { 'app.kubernetes.io/name': 'openservicemesh.io', 'app.kubernetes.io/instance': 'other' }
  cluster.put(MutatingWebhookConfiguration, { metadata: { name: 'osm-webhook-other', labels }, webhooks: [] })
  return cluster
}

async function clean(
  cluster: MemoryCluster,
  options: Partial<CleanupOptions> = {},
): Promise<{ readonly done: boolean; readonly text: string }> {
  const printed: string[] = []
  let skipped = 0
  const done = await runCleanup({
    api: cluster,
    meshName: 'osm',
    osmNamespace: 'osm-system',
    configName: 'osm-mesh-config',
    caBundleSecretName: 'osm-ca-bundle',
    definitions: customResourceDefinitions(),
    deleteCa: false,
    deleteCrds: false,
    clock: {
      now: () => systemClock.now() + skipped,
      setTimer: (callback, delayMs) => {
        skipped += delayMs
        return systemClock.setTimer(callback, 0)
      },
    },
    print: (text) => printed.push(text),
    signal: AbortSignal.timeout(10_000),
    ...options,
  })
  return { done, text: printed.join('') }
}

const namesOf = (cluster: MemoryCluster, type: typeof Secret): readonly string[] =>
  cluster.all(type).map(({ metadata }) => metadata.name)

describe('a cleanup', () => {
  it('removes what would do harm, of its own mesh only, and says what it leaves', async () => {
    const cluster = await uninstalledCluster()
    const { done, text } = await clean(cluster)
    expect(done).toBe(true)
    expect(namesOf(cluster, MutatingWebhookConfiguration)).toEqual(['osm-webhook-other'])
    expect(cluster.all(ValidatingWebhookConfiguration)).toEqual([])
    expect(cluster.all(RoleBinding).map(({ metadata: { namespace, name } }) => `${namespace}/${name}`)).toEqual([
      'shop/osm-other-bootstrap-secrets',
      'bank/osm-other-bootstrap-secrets',
      'foreign/osm-osm-bootstrap-secrets',
    ])
    expect(namesOf(cluster, Lease)).toEqual(['osm-controller-other'])
    expect(cluster.all(Secret)).toHaveLength(2)
    expect(cluster.all(CustomResourceDefinition)).toHaveLength(customResourceDefinitions().length)
    expect(cluster.all(MeshConfig)).toHaveLength(1)
    expect(text).toContain('[removed] MutatingWebhookConfiguration osm-webhook-osm')
    expect(text).toContain('[removed] RoleBinding shop/osm-osm-bootstrap-secrets')
    expect(text).toContain('kubectl delete secret -n osm-system osm-ca-bundle osm-ca-bundle-control-plane')
    expect(text).toContain('kubectl delete meshconfig -n osm-system osm-mesh-config')
  })

  it('does it again without finding anything', async () => {
    const cluster = await uninstalledCluster()
    await clean(cluster)
    const { done, text } = await clean(cluster)
    expect(done).toBe(true)
    expect(text).not.toContain('[removed]')
  })

  it('deletes roots and definitions when it is told to', async () => {
    const cluster = await uninstalledCluster()
    const { done, text } = await clean(cluster, { deleteCa: true, deleteCrds: true })
    expect(done).toBe(true)
    expect(cluster.all(Secret)).toEqual([])
    expect(cluster.all(CustomResourceDefinition)).toEqual([])
    expect(text).not.toContain('[left]')
  })

  it('does not delete definitions that another mesh or another tool has', async () => {
    const cluster = await uninstalledCluster()
    cluster.edit(CustomResourceDefinition, 'trafficsplits.split.smi-spec.io', (object) => ({
      ...object,
      metadata: { ...object.metadata, labels: {} },
    }))
    const labels = { app: 'osm-controller', meshName: 'other' }
    cluster.put(Deployment, { metadata: { namespace: 'elsewhere', name: 'osm-controller', labels } })
    const { text } = await clean(cluster, { deleteCrds: true })
    expect(text).toContain('in use by mesh "other" in namespace elsewhere and stay')
    expect(cluster.all(CustomResourceDefinition)).toHaveLength(customResourceDefinitions().length)
    cluster.remove(Deployment, 'osm-controller', 'elsewhere')
    await clean(cluster, { deleteCrds: true })
    expect(namesOf(cluster, CustomResourceDefinition)).toEqual(['trafficsplits.split.smi-spec.io'])
  })

  it('continues after a refusal and ends as failed', async () => {
    const cluster = await uninstalledCluster()
    cluster.before = ({ verb, kind }) => {
      if (verb === 'list' && kind === MutatingWebhookConfiguration.kind)
        throw new KubernetesError('OSM_KUBERNETES_FORBIDDEN', 'may not', { status: 403 })
    }
    const { done, text } = await clean(cluster)
    expect(done).toBe(false)
    expect(text).toContain('[failed] mutatingwebhookconfigurations: may not [OSM_KUBERNETES_FORBIDDEN]')
    expect(cluster.all(ValidatingWebhookConfiguration)).toEqual([])
  })

  it('waits for a bootstrap that still runs, but not forever', async () => {
    const cluster = await uninstalledCluster()
    const labels = {
      app: 'osm-bootstrap',
      'app.kubernetes.io/name': 'openservicemesh.io',
      'app.kubernetes.io/instance': 'osm',
    }
    cluster.put(Pod, { metadata: { namespace: 'osm-system', name: 'osm-bootstrap-1', labels } })
    let asked = 0
    cluster.before = ({ kind }) => {
      if (kind !== Pod.kind) return
      asked += 1
      if (asked === 3) cluster.remove(Pod, 'osm-bootstrap-1', 'osm-system')
    }
    expect((await clean(cluster)).text).not.toContain('[note]')
    expect(asked).toBe(3)
    cluster.before = () => undefined
    cluster.put(Pod, { metadata: { namespace: 'osm-system', name: 'osm-bootstrap-2', labels } })
    expect((await clean(cluster)).text).toContain('[note] osm-bootstrap-2 still runs after 60 s')
  })
})
