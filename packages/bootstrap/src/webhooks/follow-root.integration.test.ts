import { afterEach, describe, expect, it } from '@jest/globals'
import { type Clock, systemClock } from '@osm-ts/core'
import { resourceTypes } from '@osm-ts/kubernetes'
import { until } from '@osm-ts/driver-api/toolkit'

import {
  Bootstraps,
  clusterWithPreset,
  mutatingOf,
  NAMESPACE,
  replaceRoot,
  rootOf,
  trustOf,
  validatingOf,
} from '../../test/bootstrap-fixture.js'

const { MutatingWebhookConfiguration, Secret } = resourceTypes

const bootstraps = new Bootstraps()

afterEach(() => bootstraps.stop())

describe('a new root', () => {
  it.each([true, false])('is trusted beside the one before it, at once (reconciler: %s)', async (enableReconciler) => {
    const [cluster, other] = [clusterWithPreset(), clusterWithPreset()]
    await bootstraps.run(other)
    await bootstraps.start(cluster, { enableReconciler }).ready
    const before = rootOf(cluster)
    replaceRoot(cluster, other)
    await until(() => trustOf(mutatingOf(cluster)) === rootOf(other) + before)
    await until(() => trustOf(validatingOf(cluster)) === rootOf(other) + before)
  })

  it('is trusted beside the one before it when it came while no one ran', async () => {
    const [cluster, other] = [clusterWithPreset(), clusterWithPreset()]
    await bootstraps.run(other)
    await bootstraps.run(cluster)
    const before = rootOf(cluster)
    replaceRoot(cluster, other)
    await bootstraps.run(cluster)
    expect(trustOf(mutatingOf(cluster))).toBe(rootOf(other) + before)
  })

  it('is trusted alone after a day, however often the bootstrap was started in between', async () => {
    const [cluster, other] = [clusterWithPreset(), clusterWithPreset()]
    await bootstraps.run(other)
    await bootstraps.run(cluster)
    const before = rootOf(cluster)
    replaceRoot(cluster, other)
    const start = systemClock.now()
    const hour = 3_600_000
    for (const [hours, expected] of [
      [0, rootOf(other) + before],
      [23, rootOf(other) + before],
      [25, rootOf(other)],
    ] as const) {
      const clock: Clock = { ...systemClock, now: () => start + hours * hour }
      await bootstraps.run(cluster, { clock })
      expect(trustOf(mutatingOf(cluster))).toBe(expected)
    }
  })

  it('is not taken up where it is none, and a deleted one stays trusted', async () => {
    const cluster = clusterWithPreset()
    const bootstrap = bootstraps.start(cluster)
    await bootstrap.ready
    const before = rootOf(cluster)
    cluster.edit(Secret, 'osm-ca-bundle-control-plane', (object) => ({ ...object, data: { 'ca.crt': 'AAAA' } }))
    await until(() => bootstrap.reports.some(([reason]) => reason === 'RootInvalid'))
    cluster.remove(Secret, 'osm-ca-bundle-control-plane', NAMESPACE)
    await until(() => bootstrap.reports.some(([reason]) => reason === 'RootDeleted'))
    expect(trustOf(mutatingOf(cluster))).toBe(before)
  })

  it('comes to no configuration that a user has deleted, without the reconciler', async () => {
    const [cluster, other] = [clusterWithPreset(), clusterWithPreset()]
    await bootstraps.run(other)
    await bootstraps.start(cluster).ready
    cluster.remove(MutatingWebhookConfiguration, 'osm-webhook-osm')
    replaceRoot(cluster, other)
    await until(() => trustOf(validatingOf(cluster)).startsWith(rootOf(other)))
    expect(mutatingOf(cluster)).toBeUndefined()
  })
})
