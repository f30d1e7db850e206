import type { Any } from '@bufbuild/protobuf/wkt'
import type { StatisticalCircuitBreaker } from '@osm-ts/driver-api/policy'
import { LuaPerRouteSchema, LuaSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/lua/v3/lua_pb.js'

import { pack } from '../encoding/encode.js'
import { HTTP_LUA } from '../routing/filter-order.js'
import { statisticalBreakerScript } from './statistical-breaker-script.js'

/** Name of the program. A filter runs it for routes that name it, and nothing for others. */
const PROGRAM = 'circuit-breaker'

/** Statuses without a body, whatever a setting says; one would be read as the next answer. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

/** The filter that breaks circuits on statistics, where there are breakers; clusters of routes say when, see {@link breakerOfCluster}. */
export function breakerFilters(hasBreakers: boolean): { readonly [HTTP_LUA]?: Any } {
  if (!hasBreakers) return {}
  return {
    [HTTP_LUA]: pack(LuaSchema, {
      sourceCodes: { [PROGRAM]: { specifier: { case: 'inlineString', value: statisticalBreakerScript } } },
    }),
  }
}

/**
 * What a weighted cluster says to {@link breakerFilters}.
 *
 * @param upstream - what is counted together, whatever cluster leads there
 */
export function breakerOfCluster(
  upstream: string,
  breaker: StatisticalCircuitBreaker,
): { readonly [filter: string]: Any } {
  const { statWindowMs, minRequests, degradedWindowMs, slowThresholdMs, degradedStatusCode, degradedBody } = breaker
  const { slowAmount, slowRatio, errorAmount, errorRatio } = breaker
  // Thresholds of 0 would open the circuit permanently.
  const thresholds = Object.entries({
    ...(slowThresholdMs === undefined ? {} : { slowThresholdMs, slowAmount, slowRatio }),
    errorAmount,
    errorRatio,
  }).flatMap(([name, value]) => (value === undefined || value <= 0 ? [] : [[name, value] as const]))
  return {
    [HTTP_LUA]: pack(LuaPerRouteSchema, {
      override: { case: 'name', value: PROGRAM },
      filterContext: {
        breaker: { upstream, statWindowMs, minRequests, degradedWindowMs, ...Object.fromEntries(thresholds) },
        status: String(finalStatus(degradedStatusCode)),
        body: BODILESS.has(degradedStatusCode) ? '' : degradedBody,
      },
    }),
  }
}

/** Statuses below 200 announce another answer, which would never come. */
function finalStatus(status: number): number {
  return status < 200 ? 503 : status
}
