import { describe, expect, it } from '@jest/globals'

import {
  beginCheck,
  dueChecks,
  endCheck,
  healthyCount,
  isOut,
  makeChecks,
  settleChecks,
} from '../../codebase/health-checks.js'

const settings = { intervalMs: 1000, unhealthyThreshold: 3, healthyThreshold: 2 }

/** Checks of endpoints, the first of each at once. */
function checksOf(...addresses: readonly string[]): { readonly checks: ReturnType<typeof makeChecks> } {
  const checks = makeChecks()
  settleChecks(checks, addresses, () => 0)
  return { checks }
}
// Scripts have no types.
const of = ({ checks }: ReturnType<typeof checksOf>, address: string): never =>
  (checks.byAddress as Record<string, never>)[address] as never
const addressesOf = (due: readonly unknown[]): readonly string[] =>
  due.map((each) => (each as { readonly check: { readonly address: string } }).check.address)

describe('checks of endpoints', () => {
  it('leave one out after so many failures in a row, and use it again after so many successes', () => {
    const upstream = checksOf('a', 'b')
    const seen = [false, false, true, false, false, false, true, false, true, true].map((isGood) => {
      endCheck(of(upstream, 'a'), settings, isGood)
      return isOut(upstream.checks, 'a')
    })
    expect(seen).toEqual([false, false, false, false, false, true, true, true, true, false])
    expect(healthyCount(upstream.checks)).toBe(2)
    endCheck(of(upstream, 'b'), { ...settings, unhealthyThreshold: 1 }, false)
    expect(healthyCount(upstream.checks)).toBe(1)
    expect([isOut(upstream.checks, 'c'), isOut(undefined, 'a')]).toEqual([false, false])
  })

  it('are due by their interval, one at a time for an endpoint, and no more at once than there is room for', () => {
    const upstream = checksOf('a', 'b', 'c')
    expect(addressesOf(dueChecks([upstream], 0, 2))).toEqual(['a', 'b'])
    expect(dueChecks([upstream], 0, -1)).toEqual([])
    beginCheck(of(upstream, 'a'), settings, 0)
    expect(addressesOf(dueChecks([upstream], 5000, 9))).toEqual(['b', 'c'])
    endCheck(of(upstream, 'a'), settings, true)
    expect(addressesOf(dueChecks([upstream], 999, 9))).toEqual(['b', 'c'])
    // What has waited longest comes first.
    expect(addressesOf(dueChecks([upstream], 1000, 9))).toEqual(['b', 'c', 'a'])
  })

  it('continue for endpoints that stay, and know nothing of new ones', () => {
    const upstream = checksOf('a', 'b')
    for (let i = 0; i < 3; i += 1) for (const each of ['a', 'b']) endCheck(of(upstream, each), settings, false)
    settleChecks(upstream.checks, ['b', 'c'], () => 7)
    expect(Object.keys(upstream.checks.byAddress)).toEqual(['b', 'c'])
    expect(['a', 'b', 'c'].map((address) => isOut(upstream.checks, address))).toEqual([false, true, false])
    expect(addressesOf(dueChecks([upstream], 6, 9))).toEqual(['b'])
  })
})
