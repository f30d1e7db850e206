import type { MeshPart } from '@osm-ts/driver-api'
import type { AccessLogSchema } from '@osm-ts/envoy-api/envoy/config/accesslog/v3/accesslog_pb.js'
import { StdoutAccessLogSchema } from '@osm-ts/envoy-api/envoy/extensions/access_loggers/stream/v3/stream_pb.js'

import { type Init, pack } from './encode.js'

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
  return `${Object.entries(fields)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ')}\n`
}

/** Access logs of a listener's traffic: one line per request or connection on standard output, or none. */
export function accessLogs(
  { accessLog }: Pick<MeshPart, 'accessLog'>,
  traffic: 'http' | 'tcp',
): Init<typeof AccessLogSchema>[] {
  if (!accessLog.enabled) return []
  const fields = traffic === 'http' ? HTTP_FIELDS : TCP_FIELDS
  const format =
    accessLog.format === 'json'
      ? ({ case: 'jsonFormat', value: fields } as const)
      : ({
          case: 'textFormatSource',
          value: { specifier: { case: 'inlineString', value: textLine(fields) } },
        } as const)
  return [
    {
      name: 'envoy.access_loggers.stdout',
      configType: {
        case: 'typedConfig',
        value: pack(StdoutAccessLogSchema, { accessLogFormat: { case: 'logFormat', value: { format } } }),
      },
    },
  ]
}
