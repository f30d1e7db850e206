import { describe, expect, it } from '@jest/globals'
import { optionalFeatures, type Capabilities } from '@osm-ts/driver-api'
import type { PartHash } from '@osm-ts/driver-api/policy'

import { allCapabilities as everything } from '../../test/all-capabilities.js'
import { samplePolicy } from '../../test/sample-policy.js'
import type { ExplainedPolicy } from '../state/debug-api.js'
import { capabilityLosses } from './capability-losses.js'

const without = (...features: readonly string[]): Capabilities => ({
  ...everything,
  features: optionalFeatures.filter((feature) => !features.includes(feature)),
})
const rulesHash = 'client-rules'.padEnd(32, '_')
const policyRetry = { numRetries: 1, retryOn: [], backoffBaseIntervalMs: 10 }
/** With a retry, and where it comes from. */
const policy = {
  ...samplePolicy(),
  parts: {
    ...samplePolicy().parts,
    [rulesHash as PartHash]: {
      kind: 'clientRules',
      id: 'bookstore.bookstore',
      retries: [{ hosts: [], policy: policyRetry }],
      preFilters: [],
      egressCredentials: [],
      gateways: [],
    },
  },
  origins: {
    [rulesHash]: {
      '': [{ object: { kind: 'ServiceAccount', namespace: 'bookstore', name: 'bookstore' } }],
      '/retries/0': [{ object: { kind: 'Retry', namespace: 'bookstore', name: 'again' } }],
    },
  },
} as unknown as ExplainedPolicy // as far as requirements are read
const obeyed = [{ sidecarClass: 'envoy', policy }]
const losses = (to: Capabilities, present: Capabilities | undefined, sidecarClass = 'envoy') =>
  capabilityLosses([{ ...obeyed[0]!, sidecarClass }], { name: 'pipy', capabilities: to }, () => present)

describe('what a change of class loses', () => {
  it('is nothing where the class can do everything', () => {
    expect(losses(everything, everything)).toEqual([])
  })

  it('is told with the object that requests it', () => {
    expect(losses(without('retries'), everything)).toEqual([
      {
        feature: 'retries',
        security: false,
        hadBefore: true,
        objects: ['Retry bookstore/again'],
        parts: ['clientRules bookstore.bookstore'],
      },
    ])
  })

  it('is marked where it protects something', () => {
    const protocols = everything.protocols.filter((protocol) => protocol !== 'http')
    expect(losses({ ...everything, protocols }, everything)).toContainEqual(
      expect.objectContaining({ feature: 'protocol:http', security: true, hadBefore: true }),
    )
  })

  it('is not of protection where the host closes what the class lacks', () => {
    const { proxy } = samplePolicy()
    const dual = { ...policy, proxy: { ...proxy, ipFamilies: ['IPv4', 'IPv6'] } } as const
    const to = { name: 'pipy', capabilities: { ...everything, ipFamilies: ['IPv4'] as const } }
    expect(capabilityLosses([{ sidecarClass: 'envoy', policy: dual }], to, () => everything)).toMatchObject([
      { feature: 'ip-family:IPv6', security: false, hadBefore: true },
    ])
  })

  it('is no loss where not supported by the present class either, and is one if the present class is unknown', () => {
    expect(losses(without('retries'), without('retries'))).toMatchObject([{ feature: 'retries', hadBefore: false }])
    expect(losses(without('retries'), undefined)).toMatchObject([{ feature: 'retries', hadBefore: true }])
  })

  it('is nothing for proxies that are of the class already', () => {
    expect(losses(without('retries'), everything, 'pipy')).toEqual([])
  })

  it('counts if it is one for any proxy', () => {
    const mixed = [{ sidecarClass: 'haproxy', policy }, ...obeyed]
    const present = (name: string) => (name === 'envoy' ? everything : without('retries'))
    const found = capabilityLosses(mixed, { name: 'pipy', capabilities: without('retries') }, present)
    expect(found).toMatchObject([{ feature: 'retries', hadBefore: true }])
  })
})
