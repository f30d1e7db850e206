import { afterEach, describe, expect, it } from '@jest/globals'
import { customResourceDefinitions, resourceTypes } from '@osm-ts/kubernetes'
import { until } from '@osm-ts/driver-api/toolkit'

import { Bootstraps, clusterWithPreset, configOf, mutatingOf, rootOf, trustOf } from '../test/bootstrap-fixture.js'
import type { MemoryCluster } from '../test/memory-cluster.js'

const { CustomResourceDefinition, MutatingWebhookConfiguration, Secret, ValidatingWebhookConfiguration } = resourceTypes

const bootstraps = new Bootstraps()

afterEach(() => bootstraps.stop())

describe('a bootstrap that is killed', () => {
  const definitions = customResourceDefinitions().slice(0, 2)
  const settled = (cluster: MemoryCluster): unknown => ({
    definitions: cluster
      .all(CustomResourceDefinition)
      .map(({ metadata, spec }) => [metadata.name, spec])
      .sort(),
    config: [configOf(cluster)?.spec, configOf(cluster)?.metadata.annotations],
    secrets: cluster.all(Secret).length,
    trust: trustOf(mutatingOf(cluster)) === rootOf(cluster),
    webhooks: [MutatingWebhookConfiguration, ValidatingWebhookConfiguration].flatMap((type) =>
      cluster.all(type).map(({ metadata }) => metadata.name),
    ),
  })

  it.each(['before', 'after'] as const)(
    'leaves a state that the next one completes, %s every request',
    async (moment) => {
      const whole = clusterWithPreset()
      await bootstraps.run(whole, { definitions })
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
        const killed = bootstraps.start(cluster, { definitions, signal: kill.signal })
        await expect(killed.ready).rejects.toThrow()
        await killed.stop()
        const secrets = cluster.all(Secret)
        cluster[moment] = () => undefined
        await bootstraps.run(cluster, { definitions })
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
    const [a, b] = [
      bootstraps.start(cluster, { enableReconciler: true }),
      bootstraps.start(cluster, { enableReconciler: true }),
    ]
    await Promise.all([a.ready, b.ready])
    const writes = (): number => cluster.asked.filter(({ verb }) => verb === 'create' || verb === 'replace').length
    const written = writes()
    expect(cluster.all(Secret)).toHaveLength(2)
    expect(trustOf(mutatingOf(cluster))).toBe(rootOf(cluster))
    cluster.remove(MutatingWebhookConfiguration, 'osm-webhook-osm')
    await until(() => mutatingOf(cluster) !== undefined)
    // Both restore it: one makes it, the other may find that out by a refusal and one more write of the same.
    expect(writes() - written).toBeLessThanOrEqual(3)
  })
})
