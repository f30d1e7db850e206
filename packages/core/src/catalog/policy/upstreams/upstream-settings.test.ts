import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'

import { MeshFixture, objectsOf } from '../../../../test/catalog/mesh-fixture.js'
import { makeObjectKey, type KindMap } from '../../../spec/index.js'

type Setting = KindMap['UpstreamTrafficSetting']

const text = readFileSync(new URL('../../testdata/in/upstream-settings.yaml', import.meta.url), 'utf8')

function mesh(): MeshFixture {
  const fixture = new MeshFixture()
  fixture.apply(objectsOf(text))
  return fixture
}

function setting({ snapshot }: MeshFixture, name: string): Setting {
  return snapshot.get('UpstreamTrafficSetting', 'shop', name) as Setting
}

function computed({ catalog }: MeshFixture, query: string): number {
  return catalog.counters().get(query)?.computed ?? 0
}

describe('policies and UpstreamTrafficSettings', () => {
  it('are computed again for the host of an edited setting, and for no other', () => {
    const fixture = mesh()
    const edited = setting(fixture, 'data')
    fixture.catalog.resetCounters()
    fixture.apply([{ ...edited, spec: { ...edited.spec, connectionSettings: { tcp: { maxConnections: 4 } } } }])
    // The service, and the one instance that has no setting of its own.
    expect(computed(fixture, 'upstream-part')).toBe(2)
    expect(computed(fixture, 'inbound-part')).toBe(1)
    expect(computed(fixture, 'endpoints-part')).toBe(0)
  })

  it('are not computed again for what a setting says of a host that another setting has', () => {
    const fixture = mesh()
    const loser = setting(fixture, 'store-too')
    fixture.catalog.resetCounters()
    expect(fixture.apply([{ ...loser, spec: { host: loser.spec.host } }])).toEqual([])
    expect(computed(fixture, 'upstream-part')).toBe(0)
    expect(computed(fixture, 'inbound-part')).toBe(0)
  })

  it('follow the next setting by name when the first goes, and none when it goes too', () => {
    const fixture = mesh()
    const timeout = (): number | undefined => {
      const parts = Object.values(fixture.document('shop/data-0').parts)
      const upstream = parts.find(({ kind, id }) => kind === 'upstream' && id === 'shop/store|8080')
      return upstream?.kind === 'upstream' ? upstream.connectTimeoutMs : undefined
    }
    expect(timeout()).toBe(2000)
    fixture.apply([], [makeObjectKey('UpstreamTrafficSetting', 'shop', 'store')])
    expect(timeout()).toBe(9000)
    fixture.apply([], [makeObjectKey('UpstreamTrafficSetting', 'shop', 'store-too')])
    expect(timeout()).toBeUndefined()
  })

  it('say which setting a limit came from', () => {
    const fixture = mesh()
    const [binding] = fixture.document('shop/store-0').proxy.inbound
    const origin = (pointer: string) =>
      binding &&
      fixture.catalog.originsOf(binding.part, pointer).map(({ object, field }) => [object.kind, object.name, field])
    expect(origin('/rateLimits')).toEqual([['UpstreamTrafficSetting', 'store', 'spec.rateLimit']])
    expect(origin('/rules/routeLimits')).toEqual([['UpstreamTrafficSetting', 'store', 'spec.httpRoutes']])
  })
})
