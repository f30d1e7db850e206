import { describe, expect, it } from '@jest/globals'

import { trafficOn, trafficText } from './traffic.js'

const one = { from: 'workload a/buyer', to: 'service b/store', perSecond: 30, success: 1, p99Ms: 4 }
const other = { from: 'workload a/thief', to: 'service b/store', perSecond: 10, success: 0.6, p99Ms: 40 }

describe('traffic on arrows', () => {
  it('is that of both ends, and of no arrow that says something else', () => {
    const on = trafficOn([one, other])
    const { from, to, ...counted } = one
    expect(on({ from, to, kind: 'access' })).toEqual(counted)
    expect(on({ from, to, kind: 'split' })).toBeUndefined()
    expect(on({ from: to, to: from, kind: 'access' })).toBeUndefined()
  })

  it('adds up by namespace, with the share of what succeeds and the slowest p99', () => {
    expect(trafficOn([one, other])({ from: 'namespace a', to: 'namespace b', kind: 'access' })).toEqual({
      perSecond: 40,
      success: 0.9,
      p99Ms: 40,
    })
  })

  it('is written with few digits', () => {
    expect(trafficText(one)).toBe('30/s, 100 % success, p99 4.0 ms')
    expect(trafficText({ perSecond: 0.25, success: 0.984 })).toBe('0.3/s, 98.4 % success')
  })
})
