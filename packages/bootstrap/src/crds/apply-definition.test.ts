import { describe, expect, it } from '@jest/globals'
import { systemClock } from '@osm-ts/core'
import { resourceTypes } from '@osm-ts/kubernetes'

import { MemoryCluster } from '../../test/memory-cluster.js'
import { untilEstablished } from './apply-definition.js'
import type { StoredCondition } from './stored-definition.js'

const name = 'egresses.policy.openservicemesh.io'
const { signal } = new AbortController()

function waiting(conditions: readonly StoredCondition[]): Promise<void> {
  const cluster = new MemoryCluster()
  cluster.before = () => {
    // Set when it is asked for: the cluster establishes what is put into it by itself.
    cluster.edit(resourceTypes.CustomResourceDefinition, name, (object) => ({ ...object, status: { conditions } }))
    cluster.before = () => undefined
  }
  cluster.put(resourceTypes.CustomResourceDefinition, { metadata: { name }, spec: {} })
  return untilEstablished(cluster, name, systemClock, signal)
}

const taken = { type: 'NamesAccepted', status: 'False', message: '"egress" is already in use' }

describe('a definition whose name is taken', () => {
  it('is an error where it is not served', async () => {
    await expect(waiting([taken, { type: 'Established', status: 'False' }])).rejects.toMatchObject({
      code: 'OSM_BOOTSTRAP_CRD_NAMES',
      message: expect.stringContaining('"egress" is already in use'),
    })
  })

  it('is none where it is served by the names that it had', async () => {
    await expect(waiting([taken, { type: 'Established', status: 'True' }])).resolves.toBeUndefined()
  })
})
