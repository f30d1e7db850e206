import { describe, expect, it } from '@jest/globals'
import type { ProxyUUID } from '@osm-ts/driver-api'

import { parseTrustDomain } from '../identity/mesh-domains.js'
import { proxyKey, type ProxyKey } from '../identity/proxy-key.js'
import { ProxyObservations, refusalsByProxy } from './proxy-observations.js'

const own = 'c0ffee00-0000-4000-8000-000000000001' as ProxyUUID
const other = 'c0ffee00-0000-4000-8000-000000000002' as ProxyUUID
const keyOf = (uuid: ProxyUUID): ProxyKey => proxyKey({ uuid, serviceAccount: { namespace: 'shop', name: 'store' } })
const commonName = (uuid: string, identity: string): string => `${uuid}.sidecar.${identity}.cluster.local`
const start = Date.parse('2026-01-02T03:04:05Z')

function observations() {
  let now = start
  const seen = new ProxyObservations(() => now, parseTrustDomain('cluster.local'))
  return {
    seen,
    pass: (milliseconds: number) => void (now += milliseconds),
    say: (...codes: readonly string[]) =>
      seen.take(
        { session: 'one', conditions: codes.map((code) => ({ code, message: `${code} at ${now}` })) },
        () => true,
      ),
    refuse: (address: string, message = 'expired', commonName?: string) =>
      seen.take({ refused: { address, code: 'OSM_X', message, ...(commonName && { commonName }) } }, () => true),
  }
}

describe('conditions of a session', () => {
  it('are those that were said last, each since it was said first', () => {
    const { seen, say, pass } = observations()
    say('OSM_A', 'OSM_B')
    pass(5_000)
    say('OSM_B', 'OSM_C')
    expect(seen.ofSession('one')).toEqual([
      { code: 'OSM_B', message: `OSM_B at ${start + 5_000}`, since: '2026-01-02T03:04:05.000Z' },
      { code: 'OSM_C', message: `OSM_C at ${start + 5_000}`, since: '2026-01-02T03:04:10.000Z' },
    ])
    say()
    expect(seen.ofSession('one')).toEqual([])
  })

  it('end with it, and are none of one that has ended', () => {
    const { seen, say } = observations()
    say('OSM_A')
    seen.forget('one')
    expect(seen.ofSession('one')).toEqual([])
    seen.take({ session: 'two', conditions: [{ code: 'OSM_A', message: '' }] }, () => false)
    expect(seen.ofSession('two')).toEqual([])
  })
})

describe('peers that were refused', () => {
  it('are counted, and forgotten after a while', () => {
    const { seen, refuse, pass } = observations()
    refuse('10.0.0.1')
    pass(200_000)
    refuse('10.0.0.1')
    refuse('10.0.0.2')
    expect(seen.refused()).toMatchObject([
      { address: '10.0.0.1', times: 2, since: '2026-01-02T03:04:05.000Z', last: '2026-01-02T03:07:25.000Z' },
      { address: '10.0.0.2', times: 1 },
    ])
    pass(300_001)
    expect(seen.refused()).toEqual([])
  })

  it('are remembered up to a bound, the latest', () => {
    const { seen, refuse } = observations()
    for (let i = 0; i < 1_000; i += 1) refuse(`10.0.${i >> 8}.${i & 255}`)
    expect(seen.refused()).toHaveLength(256)
    expect(seen.refused().at(-1)?.address).toBe('10.0.3.231')
  })

  it('are the proxy that they have proven to be, else the only one at their address, else no one', () => {
    const { seen, refuse } = observations()
    refuse('10.0.0.9', 'another codebase', commonName(own, 'store.shop'))
    refuse('10.0.0.2')
    refuse('127.0.0.1')
    refuse('10.0.0.3')
    refuse('10.0.0.2', 'proven to be gone', commonName('c0ffee00-0000-4000-8000-00000000000f', 'store.shop'))
    refuse('10.0.0.9', 'of another account', commonName(own, 'mallory.aaa'))
    const found = refusalsByProxy(seen.refused(), [
      { proxy: keyOf(own), addresses: ['10.0.0.1', '127.0.0.1'] },
      { proxy: keyOf(other), addresses: ['10.0.0.2', '127.0.0.1'] },
    ])
    const said = (proxy?: ProxyKey) => found.get(proxy)?.map(({ message, address }) => `${message} ${address}`)
    expect(said(keyOf(own))).toEqual(['another codebase 10.0.0.9'])
    expect(said(keyOf(other))).toEqual(['expired 10.0.0.2'])
    expect(said()).toEqual([
      'expired 127.0.0.1',
      'expired 10.0.0.3',
      'proven to be gone 10.0.0.2',
      'of another account 10.0.0.9',
    ])
  })
})
