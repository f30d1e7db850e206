import type { Any } from '@bufbuild/protobuf/wkt'
import { HEALTH_CHECK_HEADER, HEALTH_CHECK_PATH } from '@osm-ts/driver-api'
import type { ExternalAuthorization, HttpGlobalRateLimit } from '@osm-ts/driver-api/policy'
import { HeaderMutationSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/header_mutation/v3/header_mutation_pb.js'
import { HealthCheckSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/health_check/v3/health_check_pb.js'
import { RBACSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/rbac/v3/rbac_pb.js'
import { RouterSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/router/v3/router_pb.js'

import { pack } from '../encoding/encode.js'
import { externalAuthorizationFilter } from '../access/external-authorization.js'
import type { FilterConfigs } from '../routing/filter-order.js'
import { httpManager } from '../routing/http-manager.js'
import { countedRequests } from '../limits/global-rate-limits.js'
import { headerValue } from '../routing/matching.js'
import { pathReadings } from '../routing/path-readings.js'
import { unlimitedHttpRequests } from '../limits/rate-limits.js'
import { denyAll } from '../access/rbac.js'
import { answeringWorkload } from '../telemetry/request-metrics.js'
import type { MeshSettings } from '../settings.js'

/** A served HTTP port. */
export interface ServedHttp {
  readonly routes: string
  /** Chooses the virtual host, see http-manager.ts. */
  readonly virtualHost: string
  readonly mesh: MeshSettings
  readonly authorization: ExternalAuthorization | undefined
  /** Whether callers may ask if the proxy lives. */
  readonly answersHealthChecks: boolean
  /** Counted by a service. */
  readonly limit: HttpGlobalRateLimit | undefined
  /** Whether answers name the workload, for metrics of the calling proxy. Never towards callers from outside. */
  readonly namesWorkload: boolean
}

/** The connection manager of a served HTTP port, for callers of the mesh and from outside alike. */
export function servedHttpManager(served: ServedHttp): Any {
  const { routes, virtualHost, mesh, authorization, answersHealthChecks, limit, namesWorkload } = served
  return httpManager({
    routes,
    statPrefix: routes,
    mesh,
    mergeSlashes: true,
    served: { virtualHost },
    filters:
      limit === undefined && authorization === undefined
        ? { name: `served ${namesWorkload} ${answersHealthChecks}`, build: () => filtersOf(served) }
        : filtersOf(served),
  })
}

function filtersOf(served: ServedHttp): FilterConfigs<'http'> {
  const { mesh, authorization, answersHealthChecks, limit, namesWorkload } = served
  return {
    // Virtual hosts say which request headers it removes.
    'envoy.filters.http.header_mutation': namesWorkload ? answeringWorkload() : pack(HeaderMutationSchema, {}),
    ...(answersHealthChecks ? { 'envoy.filters.http.health_check': healthCheck() } : {}),
    ...(mesh.keepsEscapedSlashes === true ? { 'osm.filters.http.path_readings': pathReadings() } : {}),
    // Virtual hosts bring their own rules. Where none does, nothing is allowed.
    'envoy.filters.http.rbac': pack(RBACSchema, { rules: denyAll }),
    'envoy.filters.http.local_ratelimit': unlimitedHttpRequests(),
    ...(limit === undefined ? {} : { 'envoy.filters.http.ratelimit': countedRequests(limit) }),
    ...(authorization === undefined
      ? {}
      : { 'envoy.filters.http.ext_authz': externalAuthorizationFilter(authorization) }),
    'envoy.filters.http.router': pack(RouterSchema, {}),
  }
}

function healthCheck(): Any {
  return pack(HealthCheckSchema, {
    passThroughMode: false,
    headers: [
      headerValue(':path', { type: 'exact', value: HEALTH_CHECK_PATH }),
      headerValue(HEALTH_CHECK_HEADER, { type: 'exact', value: '1' }),
    ],
  })
}
