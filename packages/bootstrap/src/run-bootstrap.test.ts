import { afterEach, describe, expect, it } from '@jest/globals'
import { customResourceDefinitions, KubernetesError, type KubernetesObject, resourceTypes } from '@osm-ts/core'

import { type BootstrapOptions } from './bootstrap-options.js'
import {
  clusterWithPreset,
  preset,
  putPreset,
  type RunningBootstrap,
  startBootstrap,
} from '../test/bootstrap-fixture.js'
import type { AskedRequest, MemoryCluster } from '../test/memory-cluster.js'
import { until } from '../test/until.js'
import { webhooksOf } from './webhooks/write-webhook-configuration.js'

const { CustomResourceDefinition, MeshConfig, MutatingWebhookConfiguration, Secret, ValidatingWebhookConfiguration } =
  resourceTypes
const NAMESPACE = 'osm-system'

const running: RunningBootstrap[] = []
function start(cluster: MemoryCluster, options: Partial<BootstrapOptions> = {}): RunningBootstrap {
  const bootstrap = startBootstrap(cluster, options)
  running.push(bootstrap)
  return bootstrap
}
/** Starts a bootstrap, waits until it is ready and ends it. */
async function run(cluster: MemoryCluster, options: Partial<BootstrapOptions> = {}): Promise<RunningBootstrap> {
  const bootstrap = start(cluster, options)
  await bootstrap.ready
  await bootstrap.stop()
  return bootstrap
}
afterEach(async () => {
  await Promise.all(running.splice(0).map((bootstrap) => bootstrap.stop()))
})

const configOf = (cluster: MemoryCluster) => cluster.find(MeshConfig, 'osm-mesh-config', NAMESPACE)
const hookOf = (cluster: MemoryCluster): KubernetesObject | undefined =>
  cluster.find(MutatingWebhookConfiguration, 'osm-webhook-osm')
const trustOf = (object: KubernetesObject | undefined): string =>
  Buffer.from((object && webhooksOf(object)[0]?.clientConfig.caBundle) ?? '', 'base64').toString()
const rootOf = (cluster: MemoryCluster): string => {
  const data = cluster.find(Secret, 'osm-ca-bundle-control-plane', NAMESPACE)?.data as Record<string, string>
  return Buffer.from(data['ca.crt'] ?? '', 'base64').toString()
}

describe('a first start', () => {
  it('brings in everything', async () => {
    const cluster = clusterWithPreset()
    await run(cluster, { enableMeshRootCertificate: true })
    expect(cluster.all(CustomResourceDefinition)).toHaveLength(customResourceDefinitions().length)
    expect(configOf(cluster)?.spec).toEqual(preset)
    expect(cluster.find(resourceTypes.MeshRootCertificate, 'osm-mesh-root-certificate', NAMESPACE)?.spec).toEqual({
      trustDomain: 'cluster.local',
      provider: { tresor: {} },
    })
    expect(
      cluster
        .all(Secret)
        .map(({ metadata }) => metadata.name)
        .sort(),
    ).toEqual(['osm-ca-bundle', 'osm-ca-bundle-control-plane'])
    expect(trustOf(hookOf(cluster))).toBe(rootOf(cluster))
    expect(trustOf(cluster.find(ValidatingWebhookConfiguration, 'osm-validator-mesh-osm'))).toBe(rootOf(cluster))
  })

  it('makes a MeshRootCertificate only where that is asked for', async () => {
    const cluster = clusterWithPreset()
    await run(cluster)
    expect(cluster.all(resourceTypes.MeshRootCertificate)).toEqual([])
  })

  it.each(['[]', '{"a":', '"text"'])('ends with what is wrong with a preset: %j', async (spec) => {
    const cluster = clusterWithPreset(spec)
    await expect(start(cluster).ready).rejects.toMatchObject({
      code: 'OSM_BOOTSTRAP_PRESET_INVALID',
      message: expect.stringContaining('ConfigMap osm-system/preset-mesh-config'),
    })
  })

  it('waits for a preset that comes later', async () => {
    const cluster = clusterWithPreset()
    cluster.remove(resourceTypes.ConfigMap, 'preset-mesh-config', NAMESPACE)
    const bootstrap = start(cluster)
    await until(() => bootstrap.reports.length > 1)
    expect(bootstrap.reports[0]).toEqual(['BootstrapWaiting', expect.stringContaining('does not exist')])
    putPreset(cluster, 'preset-mesh-config', preset)
    await bootstrap.ready
  })

  it('ends where a stored root can not be used, and leaves it', async () => {
    const cluster = clusterWithPreset()
    const data = { 'ca.crt': 'AAAA', 'private.key': 'AAAA' }
    cluster.put(Secret, { metadata: { namespace: NAMESPACE, name: 'osm-ca-bundle' }, data })
    await expect(start(cluster).ready).rejects.toMatchObject({ code: 'OSM_CERT_STORE_CORRUPT' })
    expect(cluster.find(Secret, 'osm-ca-bundle', NAMESPACE)?.data).toEqual(data)
  })

  it('goes on when the API server, a role or another writer lets it', async () => {
    const cluster = clusterWithPreset()
    const refusals = [
      new KubernetesError('OSM_KUBERNETES_UNREACHABLE', 'no answer'),
      new KubernetesError('OSM_KUBERNETES_FORBIDDEN', 'may not', { status: 403 }),
      new KubernetesError('OSM_KUBERNETES_THROTTLED', 'slower', { status: 429, retryAfterMs: 5 }),
      new KubernetesError('OSM_KUBERNETES_CONFLICT', 'overtaken', { status: 409 }),
    ]
    const failures = new Map<string, number>()
    cluster.before = ({ verb, kind, name }) => {
      if (verb === 'list') return // followed by informers, which wait for longer
      const key = `${verb} ${kind} ${name}`
      const seen = failures.get(key) ?? 0
      failures.set(key, seen + 1)
      const refusal = refusals[seen]
      if (refusal !== undefined) throw refusal
    }
    const few = customResourceDefinitions().filter(({ spec }) => spec.names.kind === 'MeshConfig')
    const bootstrap = await run(cluster, { definitions: few })
    expect(trustOf(hookOf(cluster))).toBe(rootOf(cluster))
    expect(bootstrap.logger.lines.filter(({ level }) => level === 'warn').length).toBeGreaterThan(3)
  })
})

describe('an upgrade', () => {
  it('adds new defaults, and keeps what the user has set or removed', async () => {
    const cluster = clusterWithPreset()
    await run(cluster)
    cluster.edit(MeshConfig, 'osm-mesh-config', (object) => ({
      ...object,
      spec: { sidecar: { sidecarClass: 'envoy' }, traffic: { enableEgress: false } },
    }))
    const next = { ...preset, traffic: { enableEgress: true, interceptionMode: 'iptables' } }
    putPreset(cluster, 'preset-mesh-config', next)
    await run(cluster)
    expect(configOf(cluster)?.spec).toEqual({
      sidecar: { sidecarClass: 'envoy' },
      traffic: { enableEgress: false, interceptionMode: 'iptables' },
    })
    await run(cluster)
    const writes = cluster.asked.filter(({ verb, kind }) => verb === 'replace' && kind === 'MeshConfig')
    expect(writes).toHaveLength(1)
  })

  it('does not overwrite what a user writes in the same moment', async () => {
    const cluster = clusterWithPreset()
    cluster.put(MeshConfig, { metadata: { namespace: NAMESPACE, name: 'osm-mesh-config' }, spec: {} })
    let once = true
    cluster.before = ({ verb, kind }) => {
      if (!once || verb !== 'replace' || kind !== 'MeshConfig') return
      once = false
      cluster.edit(MeshConfig, 'osm-mesh-config', (object) => ({
        ...object,
        spec: { traffic: { enableEgress: false } },
      }))
    }
    await run(cluster)
    expect(configOf(cluster)?.spec).toEqual({ ...preset, traffic: { enableEgress: false } })
  })

  it('leaves the roots and the name of a user on webhooks alone', async () => {
    const cluster = clusterWithPreset()
    await run(cluster)
    const roots = cluster.all(Secret)
    cluster.edit(MutatingWebhookConfiguration, 'osm-webhook-osm', (object) => ({
      ...object,
      webhooks: webhooksOf(object).map((webhook) => ({ ...webhook, failurePolicy: 'Ignore' })),
    }))
    await run(cluster)
    expect(cluster.all(Secret)).toEqual(roots)
    expect(hookOf(cluster)?.webhooks).toEqual([expect.objectContaining({ failurePolicy: 'Ignore' })])
    // Another setting is another configuration, and is written.
    const { webhooks } = optionsOf({ timeoutSeconds: 5 })
    await run(cluster, { webhooks })
    expect(hookOf(cluster)?.webhooks).toEqual([expect.objectContaining({ failurePolicy: 'Fail', timeoutSeconds: 5 })])
  })

  it('leaves a definition of another tool alone and says what it lacks', async () => {
    const cluster = clusterWithPreset()
    const ours = customResourceDefinitions().find(({ spec }) => spec.names.kind === 'TrafficSplit')
    const foreign = { metadata: { name: ours?.metadata.name ?? '' }, spec: { ...ours?.spec, versions: [] } }
    cluster.put(CustomResourceDefinition, foreign)
    const bootstrap = await run(cluster)
    expect(cluster.find(CustomResourceDefinition, foreign.metadata.name)?.spec).toEqual(foreign.spec)
    expect(bootstrap.reports).toEqual([['DefinitionOfAnotherTool', expect.stringContaining('lacks v1alpha4')]])
  })
})

function optionsOf(settings: Partial<BootstrapOptions['webhooks']>): Pick<BootstrapOptions, 'webhooks'> {
  return {
    webhooks: {
      mesh: { meshName: 'osm', osmNamespace: NAMESPACE, osmVersion: 'v1' },
      mutatingName: 'osm-webhook-osm',
      validatingName: 'osm-validator-mesh-osm',
      timeoutSeconds: 20,
      failurePolicy: 'Fail',
      validateTrafficTarget: true,
      ...settings,
    },
  }
}

describe('a bootstrap that is killed', () => {
  const definitions = customResourceDefinitions().slice(0, 2)
  const settled = (cluster: MemoryCluster): unknown => ({
    definitions: cluster
      .all(CustomResourceDefinition)
      .map(({ metadata, spec }) => [metadata.name, spec])
      .sort(),
    config: [configOf(cluster)?.spec, configOf(cluster)?.metadata.annotations],
    secrets: cluster.all(Secret).length,
    trust: trustOf(hookOf(cluster)) === rootOf(cluster),
    webhooks: [MutatingWebhookConfiguration, ValidatingWebhookConfiguration].flatMap((type) =>
      cluster.all(type).map(({ metadata }) => metadata.name),
    ),
  })

  it.each(['before', 'after'] as const)(
    'leaves a state that the next one completes, %s every request',
    async (moment) => {
      const whole = clusterWithPreset()
      await run(whole, { definitions })
      const expected = settled(whole)
      const total = whole.asked.length
      for (let victim = 0; victim < total; victim += 1) {
        const cluster = clusterWithPreset()
        const kill = new AbortController()
        let seen = 0
        cluster[moment] = (): void => {
          if (seen++ !== victim) return
          kill.abort()
          throw kill.signal.reason
        }
        const killed = start(cluster, { definitions, signal: kill.signal })
        await expect(killed.ready).rejects.toThrow()
        await killed.stop()
        const secrets = cluster.all(Secret)
        cluster[moment] = () => undefined
        await run(cluster, { definitions })
        expect(settled(cluster)).toEqual(expected)
        // A root that was stored is the root.
        expect(cluster.all(Secret)).toEqual(expect.arrayContaining([...secrets]))
      }
    },
  )
})

describe('two bootstraps at once', () => {
  it('end with one state and one pair of roots', async () => {
    const cluster = clusterWithPreset()
    const [a, b] = [start(cluster, { enableReconciler: true }), start(cluster, { enableReconciler: true })]
    await Promise.all([a.ready, b.ready])
    const writes = (): number => cluster.asked.filter(({ verb }) => verb === 'create' || verb === 'replace').length
    const written = writes()
    expect(cluster.all(Secret)).toHaveLength(2)
    expect(trustOf(hookOf(cluster))).toBe(rootOf(cluster))
    cluster.remove(MutatingWebhookConfiguration, 'osm-webhook-osm')
    await until(() => hookOf(cluster) !== undefined)
    // Both restore it: one makes it, the other may find that out by a refusal and one more write of the same.
    expect(writes() - written).toBeLessThanOrEqual(3)
  })
})

describe('the reconciler', () => {
  const alter = (cluster: MemoryCluster): void => {
    cluster.edit(MutatingWebhookConfiguration, 'osm-webhook-osm', (object) => ({
      ...object,
      webhooks: webhooksOf(object).map((webhook) => ({
        ...webhook,
        failurePolicy: 'Ignore',
        matchConditions: [{ name: 'never', expression: 'false' }],
      })),
    }))
  }

  it('restores what was altered or deleted, and counts it', async () => {
    const cluster = clusterWithPreset()
    const bootstrap = start(cluster, { enableReconciler: true })
    await bootstrap.ready
    const name = 'retries.policy.openservicemesh.io'
    const webhooks = hookOf(cluster)?.webhooks
    const definition = cluster.find(CustomResourceDefinition, name)?.spec
    expect(hookOf(cluster)?.metadata.labels).toMatchObject({ 'openservicemesh.io/reconcile': 'true' })

    alter(cluster)
    cluster.edit(CustomResourceDefinition, name, (object) => ({
      ...object,
      spec: { ...(object.spec as object), versions: [{ name: 'v1alpha1', served: false, storage: true }] },
    }))
    await until(() => JSON.stringify(hookOf(cluster)?.webhooks) === JSON.stringify(webhooks))
    await until(() => JSON.stringify(cluster.find(CustomResourceDefinition, name)?.spec) === JSON.stringify(definition))

    cluster.remove(CustomResourceDefinition, name)
    cluster.remove(ValidatingWebhookConfiguration, 'osm-validator-mesh-osm')
    await until(() => cluster.find(CustomResourceDefinition, name) !== undefined)
    await until(() => cluster.find(ValidatingWebhookConfiguration, 'osm-validator-mesh-osm') !== undefined)
    await until(() => bootstrap.reports.filter(([reason]) => reason === 'Restored').length === 4)
    const { body } = await bootstrap.metrics.render()
    expect(body).toContain('osm_reconciliation_total{kind="CustomResourceDefinition"} 2')
    expect(body).toContain('osm_reconciliation_total{kind="MutatingWebhookConfiguration"} 1')
  })

  it('makes the MeshConfig again that went with its definition', async () => {
    const cluster = clusterWithPreset()
    await start(cluster, { enableReconciler: true }).ready
    cluster.remove(MeshConfig, 'osm-mesh-config', NAMESPACE)
    cluster.remove(CustomResourceDefinition, 'meshconfigs.config.openservicemesh.io')
    await until(() => configOf(cluster) !== undefined)
    expect(configOf(cluster)?.spec).toEqual(preset)
  })

  it('waits for an object that is being deleted, and restores it then', async () => {
    const cluster = clusterWithPreset()
    const bootstrap = start(cluster, { enableReconciler: true })
    await bootstrap.ready
    const name = 'retries.policy.openservicemesh.io'
    cluster.edit(CustomResourceDefinition, name, (object) => ({
      ...object,
      metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x'] },
    }))
    await until(() => bootstrap.logger.lines.some(({ message }) => message === 'waiting for an object to go'))
    cluster.remove(CustomResourceDefinition, name)
    await until(() => cluster.find(CustomResourceDefinition, name) !== undefined)
    await until(() => bootstrap.reports.some(([, message]) => message.includes(`${name} was deleted`)))
  })

  it('writes nothing when nothing has changed', async () => {
    const cluster = clusterWithPreset()
    const bootstrap = start(cluster, { enableReconciler: true })
    await bootstrap.ready
    await until(() => cluster.asked.filter(({ verb }) => verb === 'list').length >= 4)
    const before = cluster.asked.filter(isWrite).length
    cluster.edit(CustomResourceDefinition, 'retries.policy.openservicemesh.io', (object) => ({
      ...object,
      metadata: { ...object.metadata, annotations: { note: 'of a user' } },
      status: { conditions: [{ type: 'Established', status: 'True', message: 'changed' }] },
    }))
    // What comes after it is restored, so the change before it was seen.
    alter(cluster)
    await until(() => bootstrap.reports.length === 1)
    expect(cluster.asked.filter(isWrite).length - before).toBe(1)
  })

  it('does nothing of that without its flag', async () => {
    const cluster = clusterWithPreset()
    await start(cluster).ready
    expect(hookOf(cluster)?.metadata.labels).not.toHaveProperty(['openservicemesh.io/reconcile'])
    const lists = cluster.asked.filter(({ verb }) => verb === 'list')
    expect(lists.map(({ kind }) => kind)).toEqual(['Secret'])
  })
})

const isWrite = ({ verb }: AskedRequest): boolean => verb === 'create' || verb === 'replace'

describe('a new root', () => {
  it.each([true, false])('is trusted beside the one before it, at once (reconciler: %s)', async (enableReconciler) => {
    const [cluster, other] = [clusterWithPreset(), clusterWithPreset()]
    await run(other)
    await start(cluster, { enableReconciler }).ready
    const before = rootOf(cluster)
    replaceRoot(cluster, other)
    await until(() => trustOf(hookOf(cluster)) === rootOf(other) + before)
    const validating = (): KubernetesObject | undefined =>
      cluster.find(ValidatingWebhookConfiguration, 'osm-validator-mesh-osm')
    await until(() => trustOf(validating()) === rootOf(other) + before)
  })

  it('is trusted beside the one before it when it came while nobody ran', async () => {
    const [cluster, other] = [clusterWithPreset(), clusterWithPreset()]
    await run(other)
    await run(cluster)
    const before = rootOf(cluster)
    replaceRoot(cluster, other)
    await run(cluster)
    expect(trustOf(hookOf(cluster))).toBe(rootOf(other) + before)
  })

  it('is not taken up where it is none, and a deleted one stays trusted', async () => {
    const cluster = clusterWithPreset()
    const bootstrap = start(cluster)
    await bootstrap.ready
    const before = rootOf(cluster)
    cluster.edit(Secret, 'osm-ca-bundle-control-plane', (object) => ({ ...object, data: { 'ca.crt': 'AAAA' } }))
    await until(() => bootstrap.reports.some(([reason]) => reason === 'RootInvalid'))
    cluster.remove(Secret, 'osm-ca-bundle-control-plane', NAMESPACE)
    await until(() => bootstrap.reports.some(([reason]) => reason === 'RootDeleted'))
    expect(trustOf(hookOf(cluster))).toBe(before)
  })

  it('comes to no configuration that a user has deleted, without the reconciler', async () => {
    const [cluster, other] = [clusterWithPreset(), clusterWithPreset()]
    await run(other)
    await start(cluster).ready
    cluster.remove(MutatingWebhookConfiguration, 'osm-webhook-osm')
    replaceRoot(cluster, other)
    const validating = (): KubernetesObject | undefined =>
      cluster.find(ValidatingWebhookConfiguration, 'osm-validator-mesh-osm')
    await until(() => trustOf(validating()).startsWith(rootOf(other)))
    expect(hookOf(cluster)).toBeUndefined()
  })
})

function replaceRoot(cluster: MemoryCluster, other: MemoryCluster): void {
  const data = other.find(Secret, 'osm-ca-bundle-control-plane', NAMESPACE)?.data
  cluster.edit(Secret, 'osm-ca-bundle-control-plane', (object) => ({ ...object, data }))
}
