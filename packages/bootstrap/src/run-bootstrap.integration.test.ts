import { afterEach, describe, expect, it } from '@jest/globals'
import { customResourceDefinitions, KubernetesError, resourceTypes } from '@osm-ts/kubernetes'
import { until } from '@osm-ts/driver-api/toolkit'

import {
  Bootstraps,
  clusterWithPreset,
  configOf,
  mutatingOf,
  NAMESPACE,
  preset,
  putPreset,
  rootOf,
  trustOf,
  webhookSettings,
} from '../test/bootstrap-fixture.js'
import { webhooksOf } from './webhooks/write-webhook-configuration.js'

const { CustomResourceDefinition, MeshConfig, MutatingWebhookConfiguration, Secret, ValidatingWebhookConfiguration } =
  resourceTypes

const bootstraps = new Bootstraps()

afterEach(() => bootstraps.stop())

describe('a first start', () => {
  it('brings in everything', async () => {
    const cluster = clusterWithPreset()
    await bootstraps.run(cluster, { enableMeshRootCertificate: true })
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
    expect(trustOf(mutatingOf(cluster))).toBe(rootOf(cluster))
    expect(trustOf(cluster.find(ValidatingWebhookConfiguration, 'osm-validator-mesh-osm'))).toBe(rootOf(cluster))
  })

  it('makes a MeshRootCertificate only where that is requested', async () => {
    const cluster = clusterWithPreset()
    await bootstraps.run(cluster)
    expect(cluster.all(resourceTypes.MeshRootCertificate)).toEqual([])
  })

  it.each(['[]', '{"a":', '"text"'])('ends with what is wrong with a preset: %j', async (spec) => {
    const cluster = clusterWithPreset(spec)
    await expect(bootstraps.start(cluster).ready).rejects.toMatchObject({
      code: 'OSM_BOOTSTRAP_PRESET_INVALID',
      message: expect.stringContaining('ConfigMap osm-system/preset-mesh-config'),
    })
  })

  it('waits for a preset that comes later', async () => {
    const cluster = clusterWithPreset()
    cluster.remove(resourceTypes.ConfigMap, 'preset-mesh-config', NAMESPACE)
    const bootstrap = bootstraps.start(cluster)
    await until(() => bootstrap.reports.length > 1)
    expect(bootstrap.reports[0]).toEqual(['BootstrapWaiting', expect.stringContaining('does not exist')])
    putPreset(cluster, 'preset-mesh-config', preset)
    await bootstrap.ready
  })

  it('ends where a stored root cannot be used, and leaves it', async () => {
    const cluster = clusterWithPreset()
    const data = { 'ca.crt': 'AAAA', 'private.key': 'AAAA' }
    cluster.put(Secret, { metadata: { namespace: NAMESPACE, name: 'osm-ca-bundle' }, data })
    await expect(bootstraps.start(cluster).ready).rejects.toMatchObject({ code: 'OSM_CERT_STORE_CORRUPT' })
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
    const bootstrap = await bootstraps.run(cluster, { definitions: few })
    expect(trustOf(mutatingOf(cluster))).toBe(rootOf(cluster))
    expect(bootstrap.logger.lines.filter(({ level }) => level === 'warn').length).toBeGreaterThan(3)
  })
})

describe('a write that a webhook refuses', () => {
  const refused = new KubernetesError('OSM_KUBERNETES_INVALID', 'a class without a driver', { status: 422 })
  const unsaid = new KubernetesError('OSM_KUBERNETES_FORBIDDEN', 'denied the request', { status: 403 })

  it.each([
    [refused.code, refused],
    [unsaid.code, unsaid],
  ])('is told once, does not hold up the rest, and is tried again: %s', async (_code, refusal) => {
    const cluster = clusterWithPreset()
    let refusals = 0
    cluster.before = ({ verb, kind }) => {
      if (verb !== 'create' || (kind !== 'MeshConfig' && kind !== 'MeshRootCertificate') || refusals >= 6) return
      refusals += 1
      throw refusal
    }
    const bootstrap = bootstraps.start(cluster, { enableMeshRootCertificate: true })
    await bootstrap.ready
    expect(trustOf(mutatingOf(cluster))).toBe(rootOf(cluster))
    expect(configOf(cluster)).toBeUndefined()
    expect(bootstrap.reports).toEqual([
      ['MeshConfigRefused', refusal.message],
      ['MeshRootCertificateRefused', refusal.message],
    ])
    await until(() => configOf(cluster) !== undefined)
    await until(() => cluster.all(resourceTypes.MeshRootCertificate).length === 1)
    expect(bootstrap.reports).toHaveLength(2)
  })

  it('says so when the next attempt fails for another reason, and goes on', async () => {
    const cluster = clusterWithPreset()
    const outcomes: (KubernetesError | undefined)[] = [refused, new KubernetesError('OSM_KUBERNETES_FAILED', 'broken')]
    cluster.before = ({ verb, kind }) => {
      const outcome = verb === 'create' && kind === 'MeshConfig' ? outcomes.shift() : undefined
      if (outcome !== undefined) throw outcome
    }
    const bootstrap = bootstraps.start(cluster)
    await bootstrap.ready
    await until(() => configOf(cluster) !== undefined)
    expect(bootstrap.logger.lines.map(({ message }) => message)).toContain('a write that was refused before has failed')
  })
})

describe('an upgrade', () => {
  it('adds new defaults, and keeps what the user has set or removed', async () => {
    const cluster = clusterWithPreset()
    await bootstraps.run(cluster)
    cluster.edit(MeshConfig, 'osm-mesh-config', (object) => ({
      ...object,
      spec: { sidecar: { sidecarClass: 'envoy' }, traffic: { enableEgress: false } },
    }))
    const next = { ...preset, traffic: { enableEgress: true, interceptionMode: 'iptables' } }
    putPreset(cluster, 'preset-mesh-config', next)
    await bootstraps.run(cluster)
    expect(configOf(cluster)?.spec).toEqual({
      sidecar: { sidecarClass: 'envoy' },
      traffic: { enableEgress: false, interceptionMode: 'iptables' },
    })
    await bootstraps.run(cluster)
    const writes = cluster.asked.filter(({ verb, kind }) => verb === 'replace' && kind === 'MeshConfig')
    expect(writes).toHaveLength(1)
  })

  it('does not overwrite what a user writes at the same time', async () => {
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
    await bootstraps.run(cluster)
    expect(configOf(cluster)?.spec).toEqual({ ...preset, traffic: { enableEgress: false } })
  })

  it('leaves the roots and the name of a user on webhooks alone', async () => {
    const cluster = clusterWithPreset()
    await bootstraps.run(cluster)
    const roots = cluster.all(Secret)
    cluster.edit(MutatingWebhookConfiguration, 'osm-webhook-osm', (object) => ({
      ...object,
      webhooks: webhooksOf(object).map((webhook) => ({ ...webhook, failurePolicy: 'Ignore' })),
    }))
    await bootstraps.run(cluster)
    expect(cluster.all(Secret)).toEqual(roots)
    expect(mutatingOf(cluster)?.webhooks).toEqual([expect.objectContaining({ failurePolicy: 'Ignore' })])
    // Another setting is another configuration, and is written.
    await bootstraps.run(cluster, { webhooks: webhookSettings({ timeoutSeconds: 5 }) })
    expect(mutatingOf(cluster)?.webhooks).toEqual([
      expect.objectContaining({ failurePolicy: 'Fail', timeoutSeconds: 5 }),
    ])
  })

  it('leaves a definition of another tool alone and says what it lacks', async () => {
    const cluster = clusterWithPreset()
    const ours = customResourceDefinitions().find(({ spec }) => spec.names.kind === 'TrafficSplit')
    const foreign = { metadata: { name: ours?.metadata.name ?? '' }, spec: { ...ours?.spec, versions: [] } }
    cluster.put(CustomResourceDefinition, foreign)
    const bootstrap = await bootstraps.run(cluster)
    expect(cluster.find(CustomResourceDefinition, foreign.metadata.name)?.spec).toEqual(foreign.spec)
    expect(bootstrap.reports).toEqual([['DefinitionOfAnotherTool', expect.stringContaining('lacks v1alpha4')]])
  })
})
