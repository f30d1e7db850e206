// Formats of the access log, see translate/log-format.ts: a line is a list of texts and commands, an object has lines by key.

import { headerValue } from './match.js'

/** The line of an entry. What there is nothing to say of is `-`. */
export function fillLine(pieces, entry) {
  return pieces
    .map((piece) => {
      if (typeof piece === 'string') return piece
      var value = pieceValue(piece, entry)
      return value === undefined || value === '' ? '-' : '' + value
    })
    .join('')
}

/** The object of an entry. A line that is one command keeps its number, and is null where there is nothing to say. */
export function fillFields(fields, entry) {
  var filled = {}
  fields.forEach((field) => {
    var line = field.line
    if (!line) filled[field.key] = fillFields(field.fields, entry)
    else if (line.length === 1 && typeof line[0] !== 'string') filled[field.key] = single(pieceValue(line[0], entry))
    else filled[field.key] = fillLine(line, entry)
  })
  return filled
}

function single(value) {
  return value === undefined || value === '' ? null : value
}

function pieceValue(piece, entry) {
  if (piece.header === undefined) return fact(piece.command, entry)
  var value = header(piece.command, piece.header, entry)
  if (value === undefined && piece.otherwise !== undefined) value = header(piece.command, piece.otherwise, entry)
  return value === undefined || piece.limit === undefined ? value : value.substring(0, piece.limit)
}

function header(command, name, entry) {
  if (command === 'REQ') return entry.request ? requestHeader(name, entry.request) : undefined
  var value = ((entry.head || {}).headers || {})[name]
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value : value.join(',')
}

// Queries stay out: they may hold what is not for a log.
function requestHeader(name, request) {
  return name === ':path' ? request.path : headerValue(name, request)
}

function fact(command, entry) {
  var peer = entry.peer
  switch (command) {
    case 'START_TIME':
      return new Date(entry.since).toISOString()
    case 'DURATION':
      return entry.ended - entry.since
    case 'REQUEST_DURATION':
      return lapse(entry.since, entry.read)
    case 'RESPONSE_DURATION':
      return entry.isLocal ? undefined : lapse(entry.since, entry.answered)
    case 'RESPONSE_TX_DURATION':
      return entry.isLocal ? undefined : lapse(entry.answered, entry.ended)
    case 'BYTES_RECEIVED':
      return entry.received
    case 'BYTES_SENT':
      return entry.sent
    case 'PROTOCOL':
      return entry.request ? entry.request.protocol : undefined
    case 'RESPONSE_CODE':
      return entry.head ? entry.head.status : 0
    case 'RESPONSE_CODE_DETAILS':
      if (!entry.request) return undefined
      return !entry.head ? 'downstream_remote_disconnect' : entry.isLocal ? 'direct_response' : 'via_upstream'
    case 'RESPONSE_FLAGS':
      return entry.flag
    case 'ROUTE_NAME':
      return entry.id
    case 'HOSTNAME':
      return entry.host
    case 'REQUESTED_SERVER_NAME':
      return entry.serverName
    case 'UPSTREAM_CLUSTER':
      return entry.cluster
    case 'UPSTREAM_HOST':
    case 'UPSTREAM_REMOTE_ADDRESS':
      return entry.address
    case 'UPSTREAM_REQUEST_ATTEMPT_COUNT':
      return entry.attempts || 0
    case 'DOWNSTREAM_REMOTE_ADDRESS':
    case 'DOWNSTREAM_DIRECT_REMOTE_ADDRESS':
      return entry.source + ':' + entry.sourcePort
    case 'DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT':
      return entry.source
    case 'DOWNSTREAM_REMOTE_PORT':
      return entry.sourcePort
    case 'DOWNSTREAM_LOCAL_ADDRESS':
      return entry.local
    case 'DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT':
      return entry.local.substring(0, entry.local.lastIndexOf(':'))
    case 'DOWNSTREAM_LOCAL_PORT':
      return +entry.local.substring(entry.local.lastIndexOf(':') + 1)
    case 'DOWNSTREAM_PEER_DNS_SAN':
      return peer && peer.subjectAltNames ? peer.subjectAltNames.join(',') : undefined
    case 'DOWNSTREAM_PEER_SUBJECT':
      return peer ? 'CN=' + peer.subject.commonName : undefined
    default:
      return undefined
  }
}

function lapse(begin, end) {
  return end === undefined ? undefined : end - begin
}
