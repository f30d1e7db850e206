import { describe, expect, it } from '@jest/globals'
import { addressPlan, chooseBlock } from './address-plan.js'

describe('addressPlan', () => {
  it('gives every machine, pod and service an address out of one range', () => {
    const plan = addressPlan(210, 2)
    expect(plan).toMatchObject({
      range: '10.210.0.0/16',
      controlPlane: '10.210.0.1',
      host: '10.210.0.2',
      services: '10.210.16.0/20',
      apiService: '10.210.16.1',
    })
    expect(plan.nodes).toEqual([
      { name: 'node-1', gateway: '10.210.0.5', address: '10.210.0.6', pods: '10.210.128.0/24' },
      { name: 'node-2', gateway: '10.210.0.9', address: '10.210.0.10', pods: '10.210.129.0/24' },
    ])
  })

  it('gives them another one of IPv6 in clusters with both families, and else none', () => {
    const plan = addressPlan(210, 2, 'dual')
    expect(plan).toMatchObject(addressPlan(210, 2))
    expect(plan.ipv6).toEqual({
      range: 'fd6f:736d:d2::/48',
      controlPlane: 'fd6f:736d:d2::1',
      host: 'fd6f:736d:d2::2',
      services: 'fd6f:736d:d2:1::/108',
      pods: 'fd6f:736d:d2:8000::/56',
    })
    expect(plan.nodes.map(({ ipv6 }) => ipv6)).toEqual([
      { gateway: 'fd6f:736d:d2::5', address: 'fd6f:736d:d2::6', pods: 'fd6f:736d:d2:8000::/64' },
      { gateway: 'fd6f:736d:d2::9', address: 'fd6f:736d:d2::a', pods: 'fd6f:736d:d2:8001::/64' },
    ])
    expect(addressPlan(210, 2).ipv6).toBeUndefined()
    expect(addressPlan(210, 60, 'dual').nodes.at(-1)?.ipv6?.pods).toBe('fd6f:736d:d2:803b::/64')
  })

  it('refuses more nodes than it has links for', () => {
    expect(() => addressPlan(210, 61)).toThrow('1 to 60 nodes, not 61')
    expect(addressPlan(210, 60).nodes.at(-1)?.address).toBe('10.210.0.242')
  })
})

describe('chooseBlock', () => {
  it('takes the first block that no one uses', () => {
    expect(chooseBlock(['default', '192.0.2.0/24'], [])).toBe(208)
    expect(chooseBlock(['default'], [208, 209])).toBe(210)
  })

  it('stays clear of routes, whether they are wider or narrower than a block', () => {
    expect(chooseBlock(['10.208.3.0/24', '10.209.0.7'], [])).toBe(210)
    expect(chooseBlock(['10.208.0.0/14'], [])).toBe(212)
  })

  it('says so when everything is in use', () => {
    expect(() => chooseBlock(['10.0.0.0/8'], [])).toThrow('10.208.0.0/16 to 10.247.0.0/16 are in use')
  })
})
