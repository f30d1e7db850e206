import { describe, expect, it } from '@jest/globals'

import type { IngressAccessGroup } from '../policy/ingress/ingress-access.js'
import { decideIngress } from './decide-ingress.js'

const group = (more: Partial<IngressAccessGroup>): IngressAccessGroup => ({
  tls: 'tls',
  protocol: 'http',
  serverNames: [],
  sources: ['0.0.0.0/0'],
  principals: [],
  matches: [{}],
  backends: [],
  ...more,
})
const closed = [{ path: { type: 'exact', value: '/never' } }] as const

function isAllowed(groups: readonly IngressAccessGroup[], address: string, serverName = ''): boolean {
  const caller = { address, addresses: [address], serverName }
  return decideIngress({ groups, backends: [] }, caller, { path: '/', method: 'GET', headers: {} }).allowed
}

describe('decideIngress', () => {
  it('takes the group with the longest range that holds the caller, and no other', () => {
    const groups = [group({ sources: ['10.0.0.0/8'] }), group({ sources: ['10.1.0.0/16'], matches: closed })]
    expect(isAllowed(groups, '10.2.0.1')).toBe(true)
    expect(isAllowed(groups, '10.1.0.1')).toBe(false)
    expect(isAllowed(groups.toReversed(), '10.1.0.1')).toBe(false)
  })

  it('takes the group with the longest server name first, and falls back to none', () => {
    const groups = [group({}), group({ serverNames: ['a.example.com'], sources: ['10.0.0.0/8'] })]
    expect(isAllowed(groups, '192.0.2.1', 'b.example.com')).toBe(true)
    expect(isAllowed(groups, '10.0.0.1', 'A.example.com')).toBe(true)
    expect(isAllowed(groups, '192.0.2.1', 'a.example.com')).toBe(false)
  })
})
