/** Commands that stand alone. */
const plain = new Set([
  'ACCESS_LOG_TYPE',
  'BYTES_RECEIVED',
  'BYTES_SENT',
  'CONNECTION_ID',
  'CONNECTION_TERMINATION_DETAILS',
  'DOWNSTREAM_DIRECT_REMOTE_ADDRESS',
  'DOWNSTREAM_LOCAL_ADDRESS',
  'DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT',
  'DOWNSTREAM_LOCAL_PORT',
  'DOWNSTREAM_PEER_DNS_SAN',
  'DOWNSTREAM_PEER_SUBJECT',
  'DOWNSTREAM_PEER_URI_SAN',
  'DOWNSTREAM_REMOTE_ADDRESS',
  'DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT',
  'DOWNSTREAM_REMOTE_PORT',
  'DOWNSTREAM_TLS_CIPHER',
  'DOWNSTREAM_TLS_VERSION',
  'DURATION',
  'HOSTNAME',
  'PROTOCOL',
  'REQUESTED_SERVER_NAME',
  'REQUEST_DURATION',
  'RESPONSE_CODE',
  'RESPONSE_CODE_DETAILS',
  'RESPONSE_DURATION',
  'RESPONSE_FLAGS',
  'RESPONSE_FLAGS_LONG',
  'RESPONSE_TX_DURATION',
  'ROUTE_NAME',
  'START_TIME',
  'UPSTREAM_CLUSTER',
  'UPSTREAM_HOST',
  'UPSTREAM_LOCAL_ADDRESS',
  'UPSTREAM_REMOTE_ADDRESS',
  'UPSTREAM_REQUEST_ATTEMPT_COUNT',
  'UPSTREAM_TRANSPORT_FAILURE_REASON',
])

/** Commands that name a header, or one and another in its place. */
const ofHeaders = new Set(['REQ', 'RESP', 'TRAILER'])

/** A header name, or two, and perhaps the length to cut the value to. */
const headerArguments = /^\((:?[A-Za-z0-9_-]+)(\?:?[A-Za-z0-9_-]+)?\)(:[1-9]\d{0,4})?$/

/** The format of an access log: one line, or an object of lines by key. */
export type LogFormat =
  { readonly kind: 'text'; readonly template: string } | { readonly kind: 'json'; readonly template: string }

/** Reads a format as people write it: what is a JSON object is one, everything else a line. */
export function readLogFormat(format: string): LogFormat | { readonly kind: 'fault'; readonly message: string } {
  const value = parseObject(format)
  const lines = value === undefined ? [format] : textsOf(value)
  if (lines === undefined) return { kind: 'fault', message: 'must contain only strings and objects of strings' }
  for (const line of lines) {
    const message = lineFault(line)
    if (message !== undefined) return { kind: 'fault', message }
  }
  return { kind: value === undefined ? 'text' : 'json', template: format }
}

function parseObject(text: string): object | undefined {
  if (!text.trimStart().startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

function textsOf(value: unknown): readonly string[] | undefined {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const members = Object.values(value).map(textsOf)
  return members.some((texts) => texts === undefined) ? undefined : members.flatMap((texts) => texts ?? [])
}

function lineFault(line: string): string | undefined {
  const rest = line.replaceAll('%%', '')
  const pieces = rest.split('%')
  if (pieces.length % 2 === 0) return `has a % without another in ${JSON.stringify(line)}; a % itself is written %%`
  const bad = pieces.find((command, index) => index % 2 === 1 && !isCommand(command))
  return bad === undefined ? undefined : `%${bad}% is not a supported command of format strings`
}

function isCommand(command: string): boolean {
  const name = /^[A-Z_]*/.exec(command)?.[0] ?? ''
  const rest = command.slice(name.length)
  return ofHeaders.has(name) ? headerArguments.test(rest) : plain.has(name) && rest === ''
}
