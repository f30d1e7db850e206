import { describe, expect, it } from '@jest/globals'

import { comparePolicies } from './compare-policies.js'

const inbound = { kind: 'inbound', id: 'shop/store|80', targetPort: 80 }

describe('comparing two versions of a policy', () => {
  it('finds nothing in a version that is the same', () => {
    const policy = { proxy: { id: 'a' }, parts: { h1: inbound } }
    expect(comparePolicies(policy, policy)).toEqual([])
  })

  it('names parts that came and went, and fields that changed, with both values', () => {
    const before = {
      proxy: { listen: { port: 1 } },
      parts: {
        same: inbound,
        old: { kind: 'routes', id: 'r', split: [{ to: 'v1', weight: 75 }, { to: 'v2' }] },
        gone: { kind: 'outbound', id: 'o' },
        s1: { kind: 'set', members: ['gone'] },
      },
    }
    const after = {
      proxy: { listen: { port: 2 } },
      parts: {
        same: inbound,
        new: { kind: 'routes', id: 'r', split: [{ to: 'v1', weight: 50 }] },
        more: { kind: 'egress', id: 'a/b' },
        s2: { kind: 'set', members: ['more'] },
      },
    }
    expect(comparePolicies(before, after)).toEqual([
      { part: 'proxy', change: 'changed', fields: [{ field: '/listen/port', before: '1', after: '2' }] },
      { part: 'egress a/b', change: 'added', fields: [] },
      { part: 'outbound o', change: 'removed', fields: [] },
      {
        part: 'routes r',
        change: 'changed',
        fields: [
          { field: '/split/0/weight', before: '75', after: '50' },
          { field: '/split/1/to', before: '"v2"' },
        ],
      },
    ])
  })
})
