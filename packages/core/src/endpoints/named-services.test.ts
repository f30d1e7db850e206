import { describe, expect, it } from '@jest/globals'

import { ObjectDecoder } from '../spec/object-decoder.js'
import { readObjects } from '../spec/read-objects.js'
import { SnapshotBuilder } from '../snapshot/index.js'
import { nameKey } from '../namespaced-name.js'
import { NAMED_SERVICES_IN_ALL, NAMED_SERVICES_PER_NAMESPACE, namedOutsideServices } from './named-services.js'

const on = { featureFlags: { enableIngressBackendPolicy: true, enableAccessControlPolicy: true } }
const namespace = (name: string): string =>
  `{ apiVersion: v1, kind: Namespace, metadata: { name: ${name}, labels: { openservicemesh.io/monitored-by: osm } } }`
const open = (kind: string, own: string, sources: readonly string[]): string =>
  `{ apiVersion: policy.openservicemesh.io/v1alpha1, kind: ${kind}, metadata: { name: open, namespace: ${own} }, spec: { ` +
  `backends: [{ name: store, port: { number: 80, protocol: http } }], sources: [${sources.join(', ')}] } }`
const source = (of: string, name: string): string => `{ kind: Service, namespace: ${of}, name: ${name} }`

function named(documents: readonly string[], config = on): readonly string[] {
  return bothOf(documents, config).read
}

function bothOf(documents: readonly string[], config = on): Record<'read' | 'beyond', readonly string[]> {
  const builder = new SnapshotBuilder(['x'])
  const { objects } = readObjects(documents.join('\n---\n'), { file: 'f.yaml', decoder: new ObjectDecoder() })
  builder.apply([{ source: 'x', upserts: objects, deletes: [] }])
  const services = namedOutsideServices(builder.snapshot, config, { mode: 'labelled', meshName: 'osm' })
  return { read: services.read.map(nameKey), beyond: services.beyond.map(nameKey) }
}

describe('namedOutsideServices', () => {
  it('finds the Services outside the mesh that objects of the mesh name, each once', () => {
    const documents = [
      namespace('shop'),
      open('IngressBackend', 'shop', [source('edge', 'gateway'), source('shop', 'inside')]),
      open('AccessControl', 'shop', [source('edge', 'gateway'), source('batch', 'jobs')]),
      open('IngressBackend', 'elsewhere', [source('kube-system', 'secret')]),
    ]
    expect(named(documents)).toEqual(['batch/jobs', 'edge/gateway'])
  })

  it('finds none for a feature that is off', () => {
    const documents = [namespace('shop'), open('AccessControl', 'shop', [source('edge', 'gateway')])]
    const config = { featureFlags: { ...on.featureFlags, enableAccessControlPolicy: false } }
    expect(named(documents, config)).toEqual([])
  })

  it('bounds the Services of one namespace and leaves others theirs', () => {
    const many = Array.from({ length: 100 }, (_, index) => source('edge', `gateway-${index}`))
    const documents = [
      ...[namespace('greedy'), open('IngressBackend', 'greedy', many)],
      ...[namespace('shop'), open('IngressBackend', 'shop', [source('edge', 'zzz')])],
    ]
    const { read, beyond } = bothOf(documents)
    expect(read).toHaveLength(NAMED_SERVICES_PER_NAMESPACE + 1)
    expect(read).toContain('edge/zzz')
    expect(beyond).toHaveLength(100 - NAMED_SERVICES_PER_NAMESPACE)
  })

  it('bounds those of all namespaces, and gives each its first before another its second', () => {
    const full = Math.ceil(NAMED_SERVICES_IN_ALL / NAMED_SERVICES_PER_NAMESPACE)
    const many = (own: number) =>
      Array.from({ length: NAMED_SERVICES_PER_NAMESPACE }, (_, index) => source('edge', `gateway-${own}-${index}`))
    const greedy = Array.from({ length: full }, (_, own) => [
      namespace(`greedy-${own}`),
      open('IngressBackend', `greedy-${own}`, many(own)),
    ]).flat()
    const { read, beyond } = bothOf([
      ...greedy,
      namespace('shop'),
      open('IngressBackend', 'shop', [source('edge', 'zzz')]),
    ])
    expect(read).toHaveLength(NAMED_SERVICES_IN_ALL)
    expect(read).toContain('edge/zzz')
    expect(beyond).toHaveLength(1)
  })

  it('requests no name that would be more than a value in a label selector', () => {
    const documents = [namespace('shop'), open('IngressBackend', 'shop', [source('edge', '"a,b=c"')])]
    expect(bothOf(documents)).toEqual({ read: [], beyond: [] })
  })
})
