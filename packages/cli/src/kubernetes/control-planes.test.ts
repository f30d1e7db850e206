import { describe, expect, it } from '@jest/globals'

import { podState } from './control-planes.js'

const pod = (metadata: object) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'osm-controller-1', namespace: 'osm-system', ...metadata },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
})

describe('podState', () => {
  it('tells that a pod runs and is ready', () => {
    expect(podState(pod({}))).toEqual({
      namespace: 'osm-system',
      name: 'osm-controller-1',
      phase: 'Running',
      ready: true,
      isEnding: false,
    })
  })

  it('calls a pod that was told to end neither ready nor there to stay, though its status says so still', () => {
    expect(podState(pod({ deletionTimestamp: '2026-01-01T00:00:00Z' }))).toMatchObject({
      phase: 'Running',
      ready: false,
      isEnding: true,
    })
  })
})
