import { describe, expect, it } from '@jest/globals'

import type { PlannedEgress } from '../policy/egress/egress-plan.js'
import { decideEgress } from './decide-egress.js'

const destination = (target: string, protocol: 'http' | 'https' = 'http'): PlannedEgress => ({
  protocol,
  port: protocol === 'http' ? 80 : 443,
  target,
  originate: undefined,
  routes: [{ match: {}, origins: [] }],
  settings: undefined,
  gateways: undefined,
  origins: [],
})

function isAllowed(host: string, protocol: 'http' | 'https' = 'http'): boolean {
  const destinations = ['api.example.com', '*.below.test'].map((target) => destination(target, protocol))
  const request = { method: 'GET', path: '/', headers: {} }
  const from = { namespace: 'shop', name: 'client' }
  return decideEgress(
    { destinations, egressEnabled: false },
    { from, protocol, host, port: protocol === 'http' ? 80 : 443, request },
  ).allowed
}

describe('decideEgress', () => {
  it.each([
    ['api.example.com', true],
    ['API.example.com', true],
    ['api.example.com.', true],
    ['a.below.test.', true],
    ['api.example.com..', false],
    ['below.test.', false],
  ])('takes the host %s as sidecars do: %s', (host, allowed) => {
    expect(isAllowed(host)).toBe(allowed)
    // Clients name a fully qualified host without its dot when they open TLS.
    expect(isAllowed(host, 'https')).toBe(allowed)
  })
})
