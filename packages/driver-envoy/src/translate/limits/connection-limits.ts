import type { RateLimits } from '@osm-ts/driver-api/policy'

import type { FilterConfigs } from '../routing/filter-order.js'
import { countedConnections } from './global-rate-limits.js'
import { limitedConnections } from './rate-limits.js'

/** Filters that limit new connections of a served port. */
export function connectionLimits({ tcp, globalTcp }: RateLimits = {}, statPrefix: string): FilterConfigs<'network'> {
  return {
    ...(tcp === undefined ? {} : { 'envoy.filters.network.local_ratelimit': limitedConnections(tcp, statPrefix) }),
    ...(globalTcp === undefined
      ? {}
      : { 'envoy.filters.network.ratelimit': countedConnections(globalTcp, statPrefix) }),
  }
}
