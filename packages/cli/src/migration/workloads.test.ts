import { describe, expect, it } from '@jest/globals'
import type { KubernetesObject } from '@osm-ts/kubernetes'

import { sampleWorkload } from '../../test/sample-workloads.js'
import { sortPods } from './workloads.js'

const { object: deployment } = sampleWorkload('server')
const { object: set } = sampleWorkload('data', { kind: 'StatefulSet' })
const owners = [
  { kind: 'Deployment', object: deployment },
  { kind: 'StatefulSet', object: set },
] as const

function controlledBy(kind: string, name: string) {
  return [{ apiVersion: 'apps/v1', kind, name, uid: `uid-of-${name}`, controller: true }]
}

function pod(name: string, more: Partial<KubernetesObject['metadata']> = {}, phase = 'Running'): KubernetesObject {
  const labels = { 'osm-proxy-uuid': `uuid-of-${name}` }
  const annotations = { 'openservicemesh.io/sidecar-class': 'envoy' }
  const conditions = [{ type: 'Ready', status: 'True' }]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels, annotations, ...more },
    status: { phase, conditions },
  }
}

const replicaSet = (name: string, ownerReferences: ReturnType<typeof controlledBy> = []): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name, uid: `uid-of-${name}`, ownerReferences },
})

describe('the pods of a namespace', () => {
  it('belong to what made them, with a ReplicaSet between or without', () => {
    const sets = [replicaSet('server-1', controlledBy('Deployment', 'server'))]
    const { restartable, left } = sortPods(owners, sets, [
      pod('data-0', { ownerReferences: controlledBy('StatefulSet', 'data') }),
      pod('server-1-a', { ownerReferences: controlledBy('ReplicaSet', 'server-1') }),
    ])
    expect(restartable.map(({ kind, name, pods }) => [kind, name, pods.map((it) => it.name)])).toEqual([
      ['Deployment', 'server', ['server-1-a']],
      ['StatefulSet', 'data', ['data-0']],
    ])
    expect(restartable[0]?.pods[0]).toMatchObject({ uuid: 'uuid-of-server-1-a', sidecarClass: 'envoy', ready: true })
    expect(left).toEqual([])
  })

  it('are left if nothing recreates them and they have a sidecar', () => {
    const { left } = sortPods(
      owners,
      [replicaSet('lone')],
      [
        pod('of-set', { ownerReferences: controlledBy('ReplicaSet', 'lone') }),
        pod('of-job', { ownerReferences: controlledBy('Job', 'night') }),
        pod('alone'),
        pod('plain', { labels: {} }),
      ],
    )
    expect(left.map(({ name, owner }) => [name, owner])).toEqual([
      ['alone', undefined],
      ['of-job', 'Job/night'],
      ['of-set', 'ReplicaSet/lone'],
    ])
  })

  it('are not those that have ended or are ending', () => {
    const pods = [pod('over', {}, 'Succeeded'), pod('broken', {}, 'Failed'), pod('going', { deletionTimestamp: 'now' })]
    expect(sortPods(owners, [], pods).left).toEqual([])
  })

  it('have no class without a sidecar, whatever they ask for', () => {
    const ownerReferences = controlledBy('StatefulSet', 'data')
    const [found] = sortPods(owners, [], [pod('data-0', { ownerReferences, labels: {} })]).restartable.flatMap(
      ({ pods }) => pods,
    )
    expect(found).not.toHaveProperty('sidecarClass')
  })
})
