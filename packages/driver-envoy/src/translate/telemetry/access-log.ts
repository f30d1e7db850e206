import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import type { Any } from '@bufbuild/protobuf/wkt'
import type { AccessLog, MeshPart, OpenTelemetryAccessLog } from '@osm-ts/driver-api/policy'
import type { AccessLogSchema } from '@osm-ts/envoy-api/envoy/config/accesslog/v3/accesslog_pb.js'
import { ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import { ApiVersion } from '@osm-ts/envoy-api/envoy/config/core/v3/config_source_pb.js'
import type { SubstitutionFormatStringSchema as FormatStringSchema } from '@osm-ts/envoy-api/envoy/config/core/v3/substitution_format_string_pb.js'
import { OpenTelemetryAccessLogConfigSchema } from '@osm-ts/envoy-api/envoy/extensions/access_loggers/open_telemetry/v3/logs_service_pb.js'
import { StdoutAccessLogSchema } from '@osm-ts/envoy-api/envoy/extensions/access_loggers/stream/v3/stream_pb.js'
import type { AnyValueSchema } from '@osm-ts/envoy-api/opentelemetry/proto/common/v1/common_pb.js'

import { authority } from '../encoding/address.js'
import { circuitBreakers } from '../upstreams/circuit-breakers.js'
import { hostCluster } from '../upstreams/cluster.js'
import { duration, encode, type Init, oneOf, pack } from '../encoding/encode.js'
import { httpProtocolOptions } from '../routing/http-protocol.js'
import { names } from '../encoding/names.js'
import { DEFAULT_HTTP_LIMITS } from '../settings.js'

/** Keys of a connection's log entry, as OSM names them. */
const TCP_FIELDS: Readonly<Record<string, string>> = {
  start_time: '%START_TIME%',
  upstream_cluster: '%UPSTREAM_CLUSTER%',
  response_flags: '%RESPONSE_FLAGS%',
  bytes_received: '%BYTES_RECEIVED%',
  bytes_sent: '%BYTES_SENT%',
  duration: '%DURATION%',
  requested_server_name: '%REQUESTED_SERVER_NAME%',
  upstream_host: '%UPSTREAM_HOST%',
}

/** Keys of a request's log entry, as OSM names them. */
const HTTP_FIELDS: Readonly<Record<string, string>> = {
  ...TCP_FIELDS,
  method: '%REQ(:METHOD)%',
  path: '%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%',
  protocol: '%PROTOCOL%',
  response_code: '%RESPONSE_CODE%',
  response_code_details: '%RESPONSE_CODE_DETAILS%',
  time_to_first_byte: '%RESPONSE_DURATION%',
  upstream_service_time: '%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%',
  x_forwarded_for: '%REQ(X-FORWARDED-FOR)%',
  user_agent: '%REQ(USER-AGENT)%',
  request_id: '%REQ(X-REQUEST-ID)%',
  authority: '%REQ(:AUTHORITY)%',
}

/** The line of the `text` format: the same facts, in one order. */
function textLine(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ')
}

/** What is written of a request or connection. */
type Content = { readonly kind: 'json'; readonly object: JsonObject } | { readonly kind: 'text'; readonly line: string }

/** The template, or else the facts that OSM writes. */
function contentOf({ format, template }: AccessLog, traffic: 'http' | 'tcp'): Content {
  const fields = traffic === 'http' ? HTTP_FIELDS : TCP_FIELDS
  return format === 'json'
    ? { kind: 'json', object: templateObject(template) ?? fields }
    : { kind: 'text', line: template ?? textLine(fields) }
}

/** One line of standard output. */
function outputFormat(content: Content): Init<typeof FormatStringSchema> {
  if (content.kind === 'json') return { format: oneOf('jsonFormat', content.object) }
  const inlineString = `${content.line.replace(/\n$/, '')}\n`
  return { format: oneOf('textFormatSource', { specifier: oneOf('inlineString', inlineString) }) }
}

/** The host has checked templates: objects hold texts and objects of texts. */
function templateObject(template: string | undefined): JsonObject | undefined {
  return template === undefined ? undefined : (JSON.parse(template) as JsonObject)
}

/** Access logs of a listener's traffic: one line per request or connection on standard output, and a record for the collector if there is one. */
export function accessLogs(
  { accessLog }: Pick<MeshPart, 'accessLog'>,
  traffic: 'http' | 'tcp',
): Init<typeof AccessLogSchema>[] {
  if (!accessLog.enabled) return []
  const content = contentOf(accessLog, traffic)
  const standardOutput = pack(StdoutAccessLogSchema, {
    accessLogFormat: oneOf('logFormat', outputFormat(content)),
  })
  return [
    { name: 'envoy.access_loggers.stdout', configType: { case: 'typedConfig', value: standardOutput } },
    ...(accessLog.openTelemetry === undefined
      ? []
      : [
          {
            name: 'envoy.access_loggers.open_telemetry',
            configType: { case: 'typedConfig' as const, value: collected(accessLog.openTelemetry, content) },
          },
        ]),
  ]
}

/** Records for a collector, as soon as they come: a proxy that ends should not take them along. */
function collected(collector: OpenTelemetryAccessLog, content: Content): Any {
  return pack(OpenTelemetryAccessLogConfigSchema, {
    commonConfig: {
      logName: 'osm-access-log',
      transportApiVersion: ApiVersion.V3,
      bufferFlushInterval: duration(1_000),
      grpcService: {
        targetSpecifier: {
          case: 'envoyGrpc',
          value: { clusterName: names.accessLogCluster, authority: authority(collector) },
        },
      },
    },
    body: content.kind === 'json' ? record(content.object) : text(content.line),
    attributes: {
      // Envoy reads values as format strings.
      values: collector.attributes.map(({ key, value }) => ({ key, value: text(value.replaceAll('%', '%%')) })),
    },
  })
}

/** The cluster of the collector. */
export function accessLogCluster({ accessLog, connectTimeoutMs }: MeshPart): Uint8Array | undefined {
  if (accessLog.openTelemetry === undefined || !accessLog.enabled) return undefined
  const { host, port, connectTimeoutMs: own } = accessLog.openTelemetry
  return encode(ClusterSchema, {
    ...hostCluster(names.accessLogCluster, host, port),
    connectTimeout: duration(own ?? connectTimeoutMs),
    circuitBreakers: circuitBreakers(),
    typedExtensionProtocolOptions: httpProtocolOptions('grpc', DEFAULT_HTTP_LIMITS),
  })
}

type AnyValueInit = Init<typeof AnyValueSchema>

function text(value: string): AnyValueInit {
  return { value: { case: 'stringValue', value } }
}

function record(object: JsonObject): AnyValueInit {
  const values = Object.entries(object).map(([key, value]) => ({
    key,
    value: isObject(value) ? record(value) : text(typeof value === 'string' ? value : JSON.stringify(value)),
  }))
  return { value: { case: 'kvlistValue', value: { values } } }
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
