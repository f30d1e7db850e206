import { describe, expect, it } from '@jest/globals'
import { ObjectDecoder } from '@osm-ts/core'

import { resourceTypes } from '../resource-types.js'
import { readObject } from './written-object.js'

describe('readObject', () => {
  it('keeps the annotations that the mesh reads, and no others', () => {
    const kept = {
      'openservicemesh.io/metrics': 'enabled',
      'service.kubernetes.io/topology-mode': 'Auto',
      'service.kubernetes.io/topology-aware-hints': 'auto',
    }
    const annotations = { ...kept, 'service.kubernetes.io/other': 'x', 'tool.example.com/note': 'y' }
    const { object } = readObject(
      { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'shop', annotations }, spec: {} },
      { decoder: new ObjectDecoder(), kind: 'Service', type: resourceTypes.Service, labels: false, facts: false },
    )
    expect(object?.metadata.annotations).toEqual(kept)
  })
})
