import { describe, expect, it } from '@jest/globals'

import type { PlannedEgress } from '../policy/egress/egress-plan.js'
import { decideEgress } from './decide-egress.js'

const destination = (target: string): PlannedEgress => ({
  protocol: 'http',
  port: 80,
  target,
  originate: undefined,
  routes: [{ match: {}, origins: [] }],
  settings: undefined,
  gateways: undefined,
  origins: [],
})

function isAllowed(host: string): boolean {
  const destinations = ['api.example.com', '*.below.test'].map(destination)
  const request = { method: 'GET', path: '/', headers: {} }
  const from = { namespace: 'shop', name: 'client' }
  return decideEgress({ destinations, egressEnabled: false }, { from, protocol: 'http', host, port: 80, request })
    .allowed
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
  })
})
