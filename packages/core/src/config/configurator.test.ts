import { describe, expect, it } from '@jest/globals'

import { parseMeshDomains } from '../identity/index.js'
import { SnapshotBuilder, type SnapshotUpdate } from '../snapshot/index.js'
import { ObjectDecoder, readObjects, type ObjectKey } from '../spec/index.js'
import { MeshConfigurator, type ConfigChange, type ConfiguratorOptions } from './configurator.js'

const decoder = new ObjectDecoder()
const text = (spec: string, namespace = 'osm-system', name = 'osm-mesh-config'): string =>
  `apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: ${name}, namespace: ${namespace} }\nspec: ${spec}\n`

function setUp(
  options: Partial<ConfiguratorOptions> = {},
  before = '',
): {
  configurator: MeshConfigurator
  changes: ConfigChange[]
  apply: (upserts: string, deletes?: readonly string[]) => void
  listeners: () => number
} {
  const builder = new SnapshotBuilder(['x'])
  builder.apply([{ source: 'x', upserts: readObjects(before, { decoder }).objects, deletes: [] }])
  const listeners = new Set<(update: SnapshotUpdate) => void>()
  const configurator = new MeshConfigurator({
    meshName: 'osm',
    osmNamespace: 'osm-system',
    domains: parseMeshDomains({ trustDomain: 'trust.example', clusterDomain: 'cluster.local' }),
    environment: {},
    current: () => builder.snapshot,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    ...options,
  })
  const changes: ConfigChange[] = []
  configurator.subscribe((change) => changes.push(change))
  const apply = (upserts: string, deletes: readonly string[] = []): void => {
    const update = builder.apply([
      {
        source: 'x',
        upserts: readObjects(upserts, { file: 'c.yaml', decoder }).objects,
        deletes: deletes as readonly ObjectKey[],
      },
    ])
    for (const listener of listeners) listener(update)
  }
  return { configurator, changes, apply, listeners: () => listeners.size }
}

describe('MeshConfigurator', () => {
  it('has defaults before there is a MeshConfig, and after it is gone', () => {
    const { configurator, apply, changes } = setUp()
    configurator.start()
    expect(configurator.current().sidecar.logLevel).toBe('error')
    apply(text('{ sidecar: { logLevel: debug } }'))
    expect(configurator.current().sidecar.logLevel).toBe('debug')
    apply('', ['MeshConfig/osm-system/osm-mesh-config'])
    expect(configurator.current().sidecar.logLevel).toBe('error')
    expect(changes.map(({ before, after }) => [before.sidecar.logLevel, after.sidecar.logLevel])).toEqual([
      ['error', 'debug'],
      ['debug', 'error'],
    ])
  })

  it('reads a MeshConfig that was there before', () => {
    const { configurator } = setUp({}, text('{ sidecar: { logLevel: info } }'))
    expect(configurator.current().sidecar.logLevel).toBe('info')
  })

  it('says nothing when the value stays the same', () => {
    const { configurator, apply, changes } = setUp()
    configurator.start()
    apply(text('{ sidecar: { logLevel: error }, traffic: { policyWithdrawalTimeout: 30s } }'))
    apply(text('{ traffic: { policyWithdrawalTimeout: 0.5m } }'))
    apply('{apiVersion: v1, kind: Service, metadata: {name: x}}')
    expect(changes).toEqual([])
  })

  it('reports problems with their place, and forgets them', () => {
    const locate: NonNullable<ConfiguratorOptions['locate']> = (_key, field) => ({
      kind: 'file',
      file: `c.yaml#${field ?? ''}`,
      line: 7,
      column: 1,
    })
    const { configurator, apply } = setUp({ locate })
    configurator.start()
    apply(text('{ certificate: { certKeyBitSize: 1 } }'))
    expect(configurator.problems()).toEqual([
      {
        code: 'OSM_CONFIG_KEY_SIZE',
        severity: 'error',
        message: 'must be from 2048 to 4096, not 1; 2048 applies',
        object: { kind: 'MeshConfig', namespace: 'osm-system', name: 'osm-mesh-config' },
        origin: { kind: 'file', file: 'c.yaml#spec.certificate.certKeyBitSize', line: 7, column: 1 },
        field: 'spec.certificate.certKeyBitSize',
      },
    ])
    apply(text('{ certificate: { certKeyBitSize: 2048 } }'))
    expect(configurator.problems()).toEqual([])
  })

  it('reads its own MeshConfig only, and says which one holds', () => {
    const { configurator, apply } = setUp()
    configurator.start()
    apply(
      `${text('{ sidecar: { logLevel: debug } }', 'default')}---\n${text('{ sidecar: { logLevel: trace } }', 'osm-system', 'other')}`,
    )
    expect(configurator.current().sidecar.logLevel).toBe('error')
    expect(configurator.problems()).toMatchObject([
      {
        code: 'OSM_CONFIG_SEVERAL',
        object: { namespace: 'default' },
        message: expect.stringContaining(
          'defaults apply; the configuration of this mesh is MeshConfig osm-system/osm-mesh-config',
        ),
      },
      { code: 'OSM_CONFIG_SEVERAL', object: { name: 'other' } },
    ])
  })

  it('takes the first of any namespace where a folder is the mesh', () => {
    const { configurator, apply } = setUp({ anyNamespace: true })
    configurator.start()
    apply(`${text('{ sidecar: { logLevel: debug } }', 'b')}---\n${text('{ sidecar: { logLevel: trace } }', 'a')}`)
    expect(configurator.current().sidecar.logLevel).toBe('trace')
    expect(configurator.problems()).toMatchObject([{ code: 'OSM_CONFIG_SEVERAL', object: { namespace: 'b' } }])
    apply(text('{ sidecar: { logLevel: info } }'))
    expect(configurator.current().sidecar.logLevel).toBe('info')
  })

  it('stops to follow', () => {
    const { configurator, apply, listeners } = setUp()
    const end = configurator.start()
    end()
    expect(listeners()).toBe(0)
    apply(text('{ sidecar: { logLevel: debug } }'))
    expect(configurator.current().sidecar.logLevel).toBe('error')
  })

  it('shows drivers what is theirs, and streams it until the signal', async () => {
    const { configurator, apply } = setUp()
    configurator.start()
    const drivers = configurator.forDrivers()
    expect(await drivers.current()).toMatchObject({
      meshName: 'osm',
      trustDomain: 'trust.example',
      clusterDomain: 'cluster.local',
      sidecar: { logLevel: 'error', localDNSProxy: false },
    })
    const stop = new AbortController()
    const seen: string[] = []
    for await (const view of drivers.watch(stop.signal)) {
      seen.push(view.sidecar.logLevel)
      if (seen.length === 1) {
        // What drivers don't see wakes no one; of two changes in a row the last is enough.
        apply(text('{ traffic: { enableEgress: true } }'))
        apply(text('{ sidecar: { logLevel: info } }'))
        apply(text('{ sidecar: { logLevel: debug } }'))
      } else stop.abort()
    }
    expect(seen).toEqual(['error', 'debug'])
  })
})
