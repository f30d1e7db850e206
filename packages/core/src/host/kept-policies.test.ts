import { beforeEach, describe, expect, it } from '@jest/globals'

import { FakeClock } from '../../test/certificates/fake-clock.js'
import type { ProxyKey } from '../identity/proxy-key.js'
import { KeptPolicies } from './kept-policies.js'

const [one, two] = ['one', 'two'] as [ProxyKey, ProxyKey]
const MINUTE = 60_000

describe('the policies of proxies that have disconnected', () => {
  let clock: FakeClock
  let released: ProxyKey[]
  let kept: KeptPolicies

  beforeEach(() => {
    clock = new FakeClock()
    released = []
    kept = new KeptPolicies({
      release: (proxy) => released.push(proxy),
      setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs),
    })
  })

  it('are released after a minute, and not before', async () => {
    kept.ended(one)
    await clock.pass(MINUTE - 1)
    expect(released).toEqual([])
    await clock.pass(1)
    expect(released).toEqual([one])
  })

  it('are kept for a minute after the last connection of a proxy that has returned', async () => {
    kept.ended(one)
    kept.began(one)
    await clock.pass(MINUTE)
    kept.ended(one)
    await clock.pass(MINUTE - 1)
    expect(released).toEqual([])
    await clock.pass(1)
    expect(released).toEqual([one])
  })

  it('are those of 10,000 proxies at most, and the longest without a connection is released first', () => {
    kept.ended(one)
    kept.ended(two)
    for (let n = 0; n < 9_998; n += 1) kept.ended(`proxy-${n}` as ProxyKey)
    expect(released).toEqual([])
    kept.ended('another' as ProxyKey)
    expect(released).toEqual([one])
  })

  it('wait for no timer once the host has ended', async () => {
    kept.ended(one)
    kept.close()
    kept.ended(two)
    await clock.pass(2 * MINUTE)
    expect(released).toEqual([])
  })
})
