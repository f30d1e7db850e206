import { describe, expect, it } from '@jest/globals'

import { parseMeshDomains } from '../identity/index.js'
import { SnapshotBuilder, type SnapshotUpdate } from '../snapshot/index.js'
import { readObjects, type ObjectKey } from '../spec/index.js'
import { MeshConfigurator } from './configurator.js'

const text = (spec: string): string =>
  `apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: osm-mesh-config, namespace: osm-system }\nspec: ${spec}\n`

/** A configurator as a controller on Kubernetes has one. */
function setUp(first = '') {
  const builder = new SnapshotBuilder(['api'])
  const listeners = new Set<(update: SnapshotUpdate) => void>()
  const put = (yaml: string, deletes: readonly string[] = []): void => {
    const update = builder.apply([
      { source: 'api', upserts: readObjects(yaml).objects, deletes: deletes as readonly ObjectKey[] },
    ])
    for (const listener of listeners) listener(update)
  }
  put(first)
  const configurator = new MeshConfigurator({
    meshName: 'osm',
    osmNamespace: 'osm-system',
    domains: parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' }),
    environment: {},
    whenAbsent: 'last',
    pinsRestartOnly: true,
    current: () => builder.snapshot,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  })
  configurator.start()
  const changes: unknown[] = []
  configurator.subscribe((change) => changes.push(change))
  const codes = (): readonly string[] =>
    configurator.problems().map(({ code, field = '' }) => `${code} ${field}`.trim())
  return { configurator, put, remove: () => put('', ['MeshConfig/osm-system/osm-mesh-config']), changes, codes }
}

describe('a MeshConfig that has gone', () => {
  it('leaves what it said last in force, with a problem, until there is one again', () => {
    const { configurator, put, remove, changes, codes } = setUp(text('{ traffic: { enableEgress: true } }'))
    expect(configurator.present).toBe(true)
    remove()
    expect(configurator.current().traffic.enableEgress).toBe(true)
    expect(codes()).toEqual(['OSM_CONFIG_ABSENT'])
    expect(configurator.problems()[0]).toMatchObject({
      severity: 'error',
      message: expect.stringContaining('does not exist'),
      object: { kind: 'MeshConfig', namespace: 'osm-system', name: 'osm-mesh-config' },
    })
    put(text('{}'))
    expect(configurator.current().traffic.enableEgress).toBe(true)
    expect(configurator.problems()[0]?.message).toContain('has an empty spec')
    expect(changes).toEqual([])
    put(text('{ traffic: { enableEgress: false } }'))
    expect(configurator.current().traffic.enableEgress).toBe(false)
    expect(codes()).toEqual([])
  })

  it('is told apart from one that never was', () => {
    const { configurator, put, codes } = setUp()
    expect(configurator.present).toBe(false)
    expect(codes()).toEqual(['OSM_CONFIG_ABSENT'])
    put(text('{}'))
    expect(configurator.present).toBe(false)
    put(text('{ sidecar: { sidecarClass: envoy } }'))
    expect(configurator.present).toBe(true)
    expect(configurator.current().sidecar.sidecarClass).toBe('envoy')
    expect(codes()).toEqual([])
  })
})

describe('settings that only a restart can change', () => {
  const start = `{ sidecar: { sidecarClass: envoy, sidecarDrivers: [
    { sidecarName: envoy, proxyServerPort: 15128, sidecarImage: one, config: { a: 1 } }, { sidecarName: pipy } ] } }`

  it('stay as they were, each with a problem, while everything else follows', () => {
    const { configurator, put, codes } = setUp(text(start))
    put(
      text(`{ traffic: { enableEgress: true }, sidecar: { sidecarClass: pipy, sidecarDrivers: [
        { sidecarName: other }, { sidecarName: envoy, proxyServerPort: 15129, sidecarImage: two, config: { a: 2 } } ] } }`),
    )
    const { sidecar, traffic } = configurator.current()
    expect(sidecar.sidecarClass).toBe('envoy')
    expect(sidecar.drivers).toMatchObject([
      { name: 'envoy', proxyServerPort: 15128, sidecarImage: 'two', config: { a: 1 } },
      { name: 'pipy' },
    ])
    expect(traffic.enableEgress).toBe(true)
    expect(codes().toSorted()).toEqual([
      'OSM_CONFIG_RESTART spec.sidecar.sidecarClass',
      'OSM_CONFIG_RESTART spec.sidecar.sidecarDrivers',
      'OSM_CONFIG_RESTART spec.sidecar.sidecarDrivers[0]',
      'OSM_CONFIG_RESTART spec.sidecar.sidecarDrivers[1].config',
      'OSM_CONFIG_RESTART spec.sidecar.sidecarDrivers[1].proxyServerPort',
    ])
    put(text(start))
    expect(codes()).toEqual([])
  })

  it('change nothing for those who only see what is in force', () => {
    const { put, changes } = setUp(text(start))
    put(text(start.replace('sidecarClass: envoy', 'sidecarClass: pipy')))
    expect(changes).toEqual([])
  })
})
