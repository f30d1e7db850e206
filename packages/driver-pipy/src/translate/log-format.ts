import type { AccessLog, JsonValue, PartRef, PolicyReader } from '@osm-ts/driver-api/policy'

import type { LogField, LogFormat, LogPiece } from '../config/log-format.js'

/** Commands that Pipy shows its scripts nothing for. */
const unknown: ReadonlySet<string> = new Set([
  'ACCESS_LOG_TYPE',
  'CONNECTION_ID',
  'CONNECTION_TERMINATION_DETAILS',
  'DOWNSTREAM_PEER_URI_SAN',
  'DOWNSTREAM_TLS_CIPHER',
  'DOWNSTREAM_TLS_VERSION',
  'RESPONSE_FLAGS_LONG',
  'TRAILER',
  'UPSTREAM_LOCAL_ADDRESS',
  'UPSTREAM_TRANSPORT_FAILURE_REASON',
])

/** The line of the `text` format where no one has given one. */
const usualLine = [
  'start_time=%START_TIME%',
  'method=%REQ(:METHOD)%',
  'path=%REQ(:PATH)%',
  'protocol=%PROTOCOL%',
  'response_code=%RESPONSE_CODE%',
  'response_flags=%RESPONSE_FLAGS%',
  'bytes_received=%BYTES_RECEIVED%',
  'bytes_sent=%BYTES_SENT%',
  'duration=%DURATION%',
  'requested_server_name=%REQUESTED_SERVER_NAME%',
  'upstream_cluster=%UPSTREAM_CLUSTER%',
  'upstream_host=%UPSTREAM_HOST%',
  'x_forwarded_for=%REQ(X-FORWARDED-FOR)%',
  'user_agent=%REQ(USER-AGENT)%',
  'request_id=%REQ(X-REQUEST-ID)%',
  'authority=%REQ(:AUTHORITY)%',
].join(' ')

/** The format of the access log; undefined if it is the one of the codebase. Of what Pipy does not know, the log says nothing, and the policy's author is told. */
export function logFormat(accessLog: AccessLog, reader: PolicyReader, mesh: PartRef): LogFormat | undefined {
  const { enabled, format, template } = accessLog
  if (!enabled || (format === 'json' && template === undefined)) return undefined
  const read =
    format === 'text'
      ? { line: linePieces((template ?? usualLine).replace(/\n$/, '')) }
      : { fields: fieldsOf(JSON.parse(template ?? '{}') as JsonObject) }
  const missing = [...new Set(commandsOf(read))].filter((command) => unknown.has(command)).sort()
  if (missing.length > 0)
    reader.refuse(
      mesh,
      '/accessLog/template',
      `class pipy knows nothing of ${missing.map((command) => `%${command}%`).join(', ')}; the access log has nothing in its place`,
    )
  return read
}

/** What the host lets through: texts, and objects of such. */
type JsonObject = { readonly [key: string]: JsonValue }

function fieldsOf(object: JsonObject): readonly LogField[] {
  return Object.entries(object).map(([key, value]) =>
    typeof value === 'string' ? { key, line: linePieces(value) } : { key, fields: fieldsOf(value as JsonObject) },
  )
}

/** `%%` is a `%`; what stands between two others is a command, as the host has checked. */
function linePieces(line: string): readonly LogPiece[] {
  const pieces: LogPiece[] = []
  let text = ''
  for (const [piece] of line.matchAll(/%%|%[^%]*%|[^%]+/g)) {
    if (piece === '%%' || !piece.startsWith('%')) {
      text += piece === '%%' ? '%' : piece
      continue
    }
    if (text !== '') pieces.push(text)
    text = ''
    pieces.push(commandOf(piece.slice(1, -1)))
  }
  return text === '' ? pieces : [...pieces, text]
}

function commandOf(text: string): LogPiece {
  const [, command = '', header, otherwise, limit] =
    /^([A-Z_]+)(?:\(([^?)]+)(?:\?([^)]+))?\)(?::(\d+))?)?$/.exec(text) ?? []
  return {
    command,
    ...(header === undefined ? {} : { header: header.toLowerCase() }),
    ...(otherwise === undefined ? {} : { otherwise: otherwise.toLowerCase() }),
    ...(limit === undefined ? {} : { limit: Number(limit) }),
  }
}

function commandsOf(format: LogFormat | LogField): readonly string[] {
  return 'line' in format
    ? format.line.flatMap((piece) => (typeof piece === 'string' ? [] : [piece.command]))
    : format.fields.flatMap(commandsOf)
}
