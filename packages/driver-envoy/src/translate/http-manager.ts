import type { Any } from '@bufbuild/protobuf/wkt'
import type { HeaderMutationSchema as MutationSchema } from '@osm-ts/envoy-api/envoy/config/common/mutation_rules/v3/mutation_rules_pb.js'
import { HeaderValueOption_HeaderAppendAction as AppendAction } from '@osm-ts/envoy-api/envoy/config/core/v3/base_pb.js'
import {
  HttpConnectionManager_ForwardClientCertDetails as ForwardClientCert,
  HttpConnectionManager_PathWithEscapedSlashesAction as EscapedSlashes,
  HttpConnectionManager_ServerHeaderTransformation as ServerHeader,
  HttpConnectionManagerSchema,
} from '@osm-ts/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { HeaderMutationSchema } from '@osm-ts/envoy-api/envoy/extensions/http/early_header_mutation/header_mutation/v3/header_mutation_pb.js'

import { accessLogs } from './access-log.js'
import { adsSource } from './config-source.js'
import { duration, type Init, pack } from './encode.js'
import { type FilterConfigs, httpFilters } from './filter-order.js'
import { http2Limits } from './http-protocol.js'
import { answeredWorkload, requestMetricsLog } from './request-metrics.js'
import type { MeshSettings } from './settings.js'
import { requestTracing } from './tracing.js'

/** Header that names the virtual host of a served service; set by the proxy itself, whatever the client sent, and never forwarded. */
export const SERVICE_HEADER = 'x-osm-service'

/** Prefix of headers by which Envoy lets a client change timeouts, retries and more: nobody's client may. */
const ENVOY_HEADERS = 'x-envoy-'

/** Headers that applications have been known to take for a caller's identity. No header is proof of one, so none comes in from a client. */
const IDENTITY_HEADERS = ['x-forwarded-client-cert', 'serviceidentity']

/** Request headers in kibibytes and in number; Envoy's own limits, written down so that they stay what tests have seen. */
const MAX_HEADERS_KB = 60
const MAX_HEADERS = 100

/** What one connection manager differs in from others. */
export interface HttpManager {
  readonly routes: string
  readonly filters: FilterConfigs<'http'>
  readonly mesh: MeshSettings
  /** False only where requests for the outside pass, whose paths are not ours to change. */
  readonly mergeSlashes: boolean
  /** Present on the serving side. */
  readonly served?: {
    /** Chooses the virtual host: the SNI name has chosen the service already, so the `Host` header has no say in it. */
    readonly virtualHost: string
  }
}

/** The configuration of an HTTP connection manager. */
export function httpManager({ routes, filters, mesh, mergeSlashes, served }: HttpManager): Any {
  const measured = mesh.requestMetrics && served === undefined
  return pack(HttpConnectionManagerSchema, {
    statPrefix: routes,
    routeSpecifier: { case: 'rds', value: { routeConfigName: routes, configSource: adsSource() } },
    httpFilters: httpFilters({
      ...(measured ? { 'envoy.filters.http.header_to_metadata': answeredWorkload() } : {}),
      ...filters,
    }),
    accessLog: [...accessLogs(mesh, 'http'), ...(measured ? [requestMetricsLog()] : [])],
    ...requestTracing(mesh),
    earlyHeaderMutationExtensions: [
      {
        name: 'envoy.http.early_header_mutation.header_mutation',
        typedConfig: pack(HeaderMutationSchema, { mutations: headerMutations(served?.virtualHost) }),
      },
    ],
    forwardClientCertDetails: ForwardClientCert.SANITIZE,
    // An application's own name for itself is nothing to hide.
    serverHeaderTransformation: ServerHeader.PASS_THROUGH,
    // Path rule of the mesh, see path-rule.ts: dot segments are refused, not resolved.
    normalizePath: false,
    mergeSlashes,
    ...(served === undefined ? {} : { pathWithEscapedSlashesAction: EscapedSlashes.REJECT_REQUEST }),
    upgradeConfigs: [{ upgradeType: 'websocket' }],
    maxRequestHeadersKb: MAX_HEADERS_KB,
    commonHttpProtocolOptions: { maxHeadersCount: MAX_HEADERS },
    http2ProtocolOptions: http2Limits,
    streamIdleTimeout: duration(mesh.idleTimeoutMs),
  })
}

function headerMutations(virtualHost: string | undefined): Init<typeof MutationSchema>[] {
  return [
    {
      action: {
        case: 'removeOnMatch',
        value: { keyMatcher: { matchPattern: { case: 'prefix', value: ENVOY_HEADERS } } },
      },
    },
    ...IDENTITY_HEADERS.map((header) => ({ action: { case: 'remove', value: header } }) as const),
    ...(virtualHost === undefined
      ? []
      : [
          {
            action: {
              case: 'append',
              value: {
                header: { key: SERVICE_HEADER, value: virtualHost },
                appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
              },
            },
          } as const,
        ]),
  ]
}
