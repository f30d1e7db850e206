import { describe, expect, it } from '@jest/globals'
import { chooseFreeRanges } from './free-ranges.js'
import { parseIpv4Range } from './ipv4-range.js'

function choose(...routed: readonly string[]) {
  return chooseFreeRanges(routed.map((text) => parseIpv4Range(text)!))
}

describe('chooseFreeRanges', () => {
  it('takes the first pair of which neither is routed', () => {
    expect(choose('127.0.0.0/8', '192.168.0.0/16')).toEqual({ subnet: '10.189.0.0/24', vipRange: '10.190.0.0/24' })
    expect(choose('10.189.0.0/24', '10.190.1.77')).toEqual({ subnet: '10.189.2.0/24', vipRange: '10.190.2.0/24' })
  })

  it('finds another range on a machine whose own network is all of 10.0.0.0/8', () => {
    expect(choose('10.0.0.0/8')).toEqual({ subnet: '198.18.0.0/24', vipRange: '198.19.0.0/24' })
  })

  it('finds none where everything is taken', () => {
    expect(choose('10.0.0.0/8', '198.18.0.0/15')).toBeUndefined()
  })
})
