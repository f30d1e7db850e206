import { afterEach, describe, expect, it } from '@jest/globals'
import { type Clock, systemClock } from '@osm-ts/core'
import { resourceTypes } from '@osm-ts/kubernetes'
import { until } from '@osm-ts/driver-api/toolkit'

import { Bootstraps, clusterWithPreset, configOf, mutatingOf, NAMESPACE, preset } from '../../test/bootstrap-fixture.js'
import type { AskedRequest, MemoryCluster } from '../../test/memory-cluster.js'
import { webhooksOf } from '../webhooks/write-webhook-configuration.js'

const { CustomResourceDefinition, MeshConfig, MutatingWebhookConfiguration, ValidatingWebhookConfiguration } =
  resourceTypes

const bootstraps = new Bootstraps()

afterEach(() => bootstraps.stop())

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
    const bootstrap = bootstraps.start(cluster, { enableReconciler: true })
    await bootstrap.ready
    const name = 'retries.policy.openservicemesh.io'
    const webhooks = mutatingOf(cluster)?.webhooks
    const definition = cluster.find(CustomResourceDefinition, name)?.spec
    expect(mutatingOf(cluster)?.metadata.labels).toMatchObject({ 'openservicemesh.io/reconcile': 'true' })

    alter(cluster)
    cluster.edit(CustomResourceDefinition, name, (object) => ({
      ...object,
      spec: { ...(object.spec as object), versions: [{ name: 'v1alpha1', served: false, storage: true }] },
    }))
    await until(() => JSON.stringify(mutatingOf(cluster)?.webhooks) === JSON.stringify(webhooks))
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
    await bootstraps.start(cluster, { enableReconciler: true }).ready
    cluster.remove(MeshConfig, 'osm-mesh-config', NAMESPACE)
    cluster.remove(CustomResourceDefinition, 'meshconfigs.config.openservicemesh.io')
    await until(() => configOf(cluster) !== undefined)
    expect(configOf(cluster)?.spec).toEqual(preset)
  })

  it('waits for an object that is being deleted, and restores it then', async () => {
    const cluster = clusterWithPreset()
    const bootstrap = bootstraps.start(cluster, { enableReconciler: true })
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
    const bootstrap = bootstraps.start(cluster, { enableReconciler: true })
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

  it('answers somebody who never stops less and less often', async () => {
    const cluster = clusterWithPreset()
    const begin = systemClock.now()
    // A hundred times as fast, timers and all.
    const clock: Clock = {
      now: () => begin + (systemClock.now() - begin) * 100,
      setTimer: (callback, delayMs) => systemClock.setTimer(callback, delayMs / 100),
    }
    const bootstrap = bootstraps.start(cluster, { enableReconciler: true, clock })
    await bootstrap.ready
    const restoredAt: number[] = []
    cluster.after = ({ verb, kind }) => {
      if (verb !== 'replace' || kind !== MutatingWebhookConfiguration.kind) return
      restoredAt.push(clock.now())
      setImmediate(() => alter(cluster))
    }
    alter(cluster)
    await until(() => restoredAt.length === 14)
    const gaps = restoredAt.slice(1).map((at, index) => at - (restoredAt[index] ?? 0))
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1000)
    expect(gaps.at(-1)).toBeGreaterThanOrEqual(4000)
    expect(bootstrap.reports.filter(([reason]) => reason === 'Contested')).toHaveLength(1)
  })

  it('does nothing of that without its flag', async () => {
    const cluster = clusterWithPreset()
    await bootstraps.start(cluster).ready
    expect(mutatingOf(cluster)?.metadata.labels).not.toHaveProperty(['openservicemesh.io/reconcile'])
    const lists = cluster.asked.filter(({ verb }) => verb === 'list')
    expect(lists.map(({ kind }) => kind)).toEqual(['Secret'])
  })
})

const isWrite = ({ verb }: AskedRequest): boolean => verb === 'create' || verb === 'replace'
