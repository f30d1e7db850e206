import { describe, expect, it } from '@jest/globals'

import { rateLimitsOf } from './rate-limits.js'

const tcp = (...keys: readonly string[]) => ({
  rateLimitService: { host: '192.0.2.1', port: 8081 },
  domain: 'connections',
  failOpen: true,
  descriptors: keys.map((key) => ({ entries: [{ key, value: 'v' }] })),
})

describe('limits on connections that a service counts', () => {
  it('leave out descriptors that cannot be read', () => {
    expect(rateLimitsOf({ global: { tcp: tcp('', 'k') } }).globalTcp?.descriptors).toEqual([
      { entries: [{ key: 'k', value: 'v' }] },
    ])
  })

  it('are left out themselves where no descriptor is left, since sidecars would refuse the port for it', () => {
    expect(rateLimitsOf({ global: { tcp: tcp('', '') } })).toEqual({})
  })
})
