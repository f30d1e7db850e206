import { describe, expect, it } from '@jest/globals'

import { proxyStatus } from '../../test/sample-view.js'
import { allInOrder, halfEnrolledServices, renderStatus } from './render-status.js'

const now = Date.parse('2026-01-02T03:05:04Z')
const since = '2026-01-02T03:04:54Z'
const duplicate = proxyStatus('shop-0', 'store', 'shop', {
  conditions: [
    { code: 'OSM_TWICE', message: 'there are two of it', since },
    { code: 'OSM_AWAY', message: 'was refused', since, last: '2026-01-02T03:05:00Z', times: 3 },
  ],
})
const stranger = { address: '10.0.0.7', code: 'OSM_WHO', message: 'shows nothing', since, last: since, times: 1 }

describe('osm proxy status', () => {
  it('tells below the table what is wrong, and who was refused', () => {
    const lines = renderStatus([duplicate], [stranger], [], { now, color: false })
    expect(lines.slice(2)).toEqual([
      '',
      'CONDITION of store/shop-0: OSM_TWICE, for 10s',
      '  there are two of it',
      '',
      'CONDITION of store/shop-0: OSM_AWAY, 3 times, last 4s ago',
      '  was refused',
      '',
      'REFUSED 10.0.0.7: OSM_WHO, 1 time, last 10s ago',
      '  shows nothing',
    ])
  })

  it('tells the source of certificates where there is more than the mesh', () => {
    const spire = proxyStatus('cart-0', 'store', 'shop', { serviceCredential: 'workload-api' })
    const columns = (...statuses: Parameters<typeof renderStatus>[0]): readonly (readonly string[])[] =>
      renderStatus(statuses, [], [], { now, color: false })
        .slice(0, statuses.length + 1)
        .map((line) => line.trim().split(/ {2,}/))
    const plain = { ...duplicate, conditions: [] }
    expect(columns(plain, spire).map((row) => row[3])).toEqual(['CERTIFICATE', 'workload-api', 'mesh'])
    expect(columns(plain)[0]).not.toContain('CERTIFICATE')
  })

  it('names services with endpoints that have no sidecar, and what becomes of their traffic', () => {
    const found = halfEnrolledServices([
      {
        code: 'OSM_POLICY_WITHOUT_SIDECAR',
        severity: 'warning',
        message: '1 of 2 endpoints have no sidecar (10.0.0.3); the mesh speaks plaintext to them',
        object: { kind: 'Service', namespace: 'shop', name: 'store' },
      },
      { code: 'OSM_OTHER', severity: 'warning', message: 'something else' },
    ])
    expect(renderStatus([], [], found, { now, color: false }).slice(-3)).toEqual([
      '',
      'WITHOUT SIDECAR: Service shop/store',
      '  1 of 2 endpoints have no sidecar (10.0.0.3); the mesh speaks plaintext to them',
    ])
  })

  it('is in order with strangers, and not with conditions', () => {
    expect(allInOrder([proxyStatus('shop-0', 'store', 'shop')])).toBe(true)
    expect(allInOrder([duplicate])).toBe(false)
  })
})
