import type { Any } from '@bufbuild/protobuf/wkt'
import { withheldHeaders } from '@osm-ts/driver-api/policy'
import type { HeaderMutationSchema as MutationSchema } from '@osm-ts/envoy-api/envoy/config/common/mutation_rules/v3/mutation_rules_pb.js'
import { HeaderValueOption_HeaderAppendAction as AppendAction } from '@osm-ts/envoy-api/envoy/config/core/v3/base_pb.js'
import type { TypedExtensionConfigSchema } from '@osm-ts/envoy-api/envoy/config/core/v3/extension_pb.js'
import {
  HttpConnectionManager_ForwardClientCertDetails as ForwardClientCert,
  HttpConnectionManager_PathWithEscapedSlashesAction as EscapedSlashes,
  HttpConnectionManager_ServerHeaderTransformation as ServerHeader,
  HttpConnectionManagerSchema,
} from '@osm-ts/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { HeaderMutationSchema } from '@osm-ts/envoy-api/envoy/extensions/http/early_header_mutation/header_mutation/v3/header_mutation_pb.js'

import { accessLogs } from '../telemetry/access-log.js'
import { removals } from './header-removal.js'
import { adsSource } from '../encoding/config-source.js'
import { duration, extend, type Init, oneOf, pack } from '../encoding/encode.js'
import { type FilterConfigs, httpFilters } from './filter-order.js'
import { downstreamHttp2Options } from './http-protocol.js'
import { answeredWorkload, requestMetricsLog } from '../telemetry/request-metrics.js'
import { pathCopy } from './path-readings.js'
import type { MeshSettings } from '../settings.js'
import { requestTracing } from '../telemetry/tracing.js'
import { otherUpgrades, upgradeTypes } from './upgrade-types.js'

/** Header that names the virtual host of the service that a connection is for, called or served; set by the proxy itself, whatever the client sent, and never forwarded. */
export const SERVICE_HEADER = 'x-osm-service'

/** Filters that depend on the settings of the mesh and on the name alone: they are encoded once for all managers. */
export interface SharedFilters {
  readonly name: string
  readonly build: () => FilterConfigs<'http'>
}

/** What one connection manager differs in from others. */
export interface HttpManager {
  /** Name of its route configuration; undefined for a manager to which {@link routedManager} adds one. */
  readonly routes: string | undefined
  readonly statPrefix: string
  readonly filters: FilterConfigs<'http'> | SharedFilters
  readonly mesh: MeshSettings
  /** False only where requests for the outside pass, whose paths are not ours to change. */
  readonly mergeSlashes: boolean
  /** True where the host of a request chooses between destinations: `example.com.` is the same host as `example.com`. */
  readonly hostChooses?: boolean
  /** Present on the serving side. */
  readonly served?: {
    /** Chooses the virtual host: the SNI name has chosen the service already, so the `Host` header has no say in it. */
    readonly virtualHost: string
  }
}

/**
 * A connection manager that chooses the virtual host itself, see {@link SERVICE_HEADER}.
 *
 * @param base - what it shares with others, without a choice
 * @param virtualHost - value of the header; may hold commands of Envoy's format strings
 */
export function choosingManager(base: Any, virtualHost: string): Any {
  const value = extend(HttpConnectionManagerSchema, base.value, {
    earlyHeaderMutationExtensions: [earlyMutation([serviceHeader(virtualHost)])],
  })
  return { ...base, value }
}

/**
 * Adds a route configuration to a connection manager that was made without one.
 *
 * @param host - host of HTTP/1.0 requests without one, such as health checks of load balancers; Envoy would refuse them
 */
export function routedManager(base: Any, routes: string, host: string): Any {
  const value = extend(HttpConnectionManagerSchema, base.value, {
    routeSpecifier: routeSource(routes),
    httpProtocolOptions: { defaultHostForHttp10: host },
  })
  return { ...base, value }
}

function routeSource(routeConfigName: string) {
  return oneOf('rds', { routeConfigName, configSource: adsSource() })
}

/** The configuration of an HTTP connection manager. */
export function httpManager(manager: HttpManager): Any {
  const { routes, statPrefix, filters, mesh } = manager
  const filtersOf = (configs: FilterConfigs<'http'>): Init<typeof HttpConnectionManagerSchema> => ({
    httpFilters: httpFilters({
      ...(isMeasured(manager) ? { 'envoy.filters.http.header_to_metadata': answeredWorkload() } : {}),
      ...configs,
    }),
  })
  const { httpFilters: filterList } =
    'build' in filters
      ? mesh.fragments.fields(HttpConnectionManagerSchema, `filters ${filters.name}`, () => filtersOf(filters.build()))
      : filtersOf(filters)
  const { mutations: claims = [] } = mesh.fragments.fields(HeaderMutationSchema, 'claims', () => ({
    mutations: removals(withheldHeaders()),
  }))
  return pack(HttpConnectionManagerSchema, {
    statPrefix,
    ...(routes === undefined ? {} : { routeSpecifier: routeSource(routes) }),
    ...(filterList === undefined ? {} : { httpFilters: filterList }),
    ...sharedFields(manager),
    earlyHeaderMutationExtensions: [earlyMutation([...claims, ...servedMutations(manager)])],
  })
}

/** What a serving manager says about a request, before routes are chosen. */
function servedMutations({ mesh, served }: HttpManager): readonly Init<typeof MutationSchema>[] {
  if (served === undefined) return []
  return [serviceHeader(served.virtualHost), ...(mesh.keepsEscapedSlashes === true ? [pathCopy()] : [])]
}

/** True where requests are counted by the workload that answers. */
function isMeasured({ mesh, served }: HttpManager): boolean {
  return mesh.requestMetrics && served === undefined
}

/** What managers of one kind have in common. */
function sharedFields(manager: HttpManager): Init<typeof HttpConnectionManagerSchema> {
  const { mesh, mergeSlashes, hostChooses = false, served } = manager
  const name = `${served === undefined ? 'calling' : 'serving'} ${mergeSlashes} ${hostChooses}`
  return mesh.fragments.fields(HttpConnectionManagerSchema, name, () => ({
    accessLog: [...accessLogs(mesh, 'http'), ...(isMeasured(manager) ? [requestMetricsLog()] : [])],
    ...requestTracing(mesh),
    forwardClientCertDetails: ForwardClientCert.SANITIZE,
    // An application's own name for itself is nothing to hide.
    serverHeaderTransformation: ServerHeader.PASS_THROUGH,
    // Path rule of the mesh, see path-rule.ts: dot segments are refused, not resolved.
    normalizePath: false,
    mergeSlashes,
    stripTrailingHostDot: hostChooses,
    // Refused by routes, which say why.
    ...(served === undefined ? {} : { pathWithEscapedSlashesAction: EscapedSlashes.KEEP_UNCHANGED }),
    upgradeConfigs: upgradeTypes.map((upgradeType) => ({ upgradeType })),
    // `Expect: 100-continue` is for the server to answer, and its answers 102 and 103 are for the client.
    proxy100Continue: true,
    maxRequestHeadersKb: mesh.httpLimits.requestHeadersKiB,
    commonHttpProtocolOptions: { maxHeadersCount: mesh.httpLimits.headers },
    // HTTP/1.0 is spoken by nginx towards upstreams unless it is told otherwise. Trailers pass as they do in HTTP/2.
    httpProtocolOptions: {
      acceptHttp10: true,
      enableTrailers: true,
      allowCustomMethods: true,
      ignoreHttp11Upgrade: [otherUpgrades()],
    },
    http2ProtocolOptions: downstreamHttp2Options(served === undefined ? undefined : mesh.httpLimits.concurrentStreams),
    streamIdleTimeout: duration(mesh.streamIdleTimeoutMs),
  }))
}

/**
 * Takes away what a client says about itself and to Envoy, before anything else reads it.
 *
 * @param more - what else is changed before routes are chosen
 */
export function withoutCallersClaims(
  more: readonly Init<typeof MutationSchema>[],
): Init<typeof TypedExtensionConfigSchema>[] {
  return [earlyMutation([...removals(withheldHeaders()), ...more])]
}

function earlyMutation(
  mutations: NonNullable<Init<typeof HeaderMutationSchema>['mutations']>,
): Init<typeof TypedExtensionConfigSchema> {
  return {
    name: 'envoy.http.early_header_mutation.header_mutation',
    typedConfig: pack(HeaderMutationSchema, { mutations: [...mutations] }),
  }
}

function serviceHeader(virtualHost: string): Init<typeof MutationSchema> {
  return {
    action: {
      case: 'append',
      value: {
        header: { key: SERVICE_HEADER, value: virtualHost },
        appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
      },
    },
  }
}
