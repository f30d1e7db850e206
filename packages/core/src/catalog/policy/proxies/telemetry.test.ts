import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'
import type { AccessLog } from '@osm-ts/driver-api/policy'

import { MeshFixture, objectsOf, uuidOf } from '../../../../test/catalog/mesh-fixture.js'
import { makeObjectKey, type KindMap } from '../../../spec/index.js'

const text = readFileSync(new URL('../../testdata/in/telemetry.yaml', import.meta.url), 'utf8')

function mesh(): MeshFixture {
  const fixture = new MeshFixture()
  fixture.apply(objectsOf(text))
  return fixture
}

function accessLog(fixture: MeshFixture, name: string): AccessLog | undefined {
  const { proxy, parts } = fixture.document(name)
  const part = parts[proxy.mesh]
  return part?.kind === 'mesh' ? part.accessLog : undefined
}

describe('policies and Telemetry', () => {
  it('take the one that selects the workload, then the one of the namespace, then the settings of the mesh', () => {
    const fixture = mesh()
    expect(accessLog(fixture, 'shop/store-0')).toEqual({
      enabled: true,
      format: 'json',
      template: '{ "path": "%REQ(:PATH)%" }',
      openTelemetry: {
        host: 'logs.example',
        port: 4317,
        connectTimeoutMs: 2000,
        attributes: [
          { key: 'share', value: '100%' },
          { key: 'team', value: 'books' },
        ],
      },
    })
    expect(accessLog(fixture, 'shop/desk-0')).toMatchObject({ format: 'text' })
    expect(accessLog(fixture, 'yard/guard-0')).toEqual({ enabled: true, format: 'json' })
  })

  it('keep the usual format where one cannot be read', () => {
    expect(accessLog(mesh(), 'bank/vault-0')).toEqual({ enabled: true, format: 'json' })
  })

  it('follow when one goes, and when its collector goes', () => {
    const fixture = mesh()
    fixture.apply([], [makeObjectKey('ExtensionService', 'shop', 'collector')])
    expect(accessLog(fixture, 'shop/store-0')).toEqual({
      enabled: true,
      format: 'json',
      template: '{ "path": "%REQ(:PATH)%" }',
    })
    fixture.apply([], [makeObjectKey('Telemetry', 'shop', 'store')])
    expect(accessLog(fixture, 'shop/store-0')).toMatchObject({ format: 'text' })
    fixture.apply([], [makeObjectKey('Telemetry', 'shop', 'all')])
    expect(accessLog(fixture, 'shop/store-0')).toEqual({ enabled: true, format: 'json' })
  })

  it('change for the workloads of an edited one, and for no other', () => {
    const fixture = mesh()
    const edited = fixture.snapshot.get('Telemetry', 'shop', 'all') as KindMap['Telemetry']
    fixture.catalog.resetCounters()
    const changes = fixture.apply([{ ...edited, spec: { accessLog: { format: '%DURATION%' } } }])
    expect(changes.map(({ proxy }) => proxy)).toEqual([expect.stringContaining(uuidOf('shop/desk-0'))])
    const computed = (query: string): number => fixture.catalog.counters().get(query)?.computed ?? 0
    expect([computed('proxy-part'), computed('mesh-part'), computed('inbound-part')]).toEqual([1, 0, 0])
  })
})
