// One line on standard output for each request and connection, once it is over: in the format of the configuration, or else JSON with the names that the
// other sidecar class has. The span of a request begins and ends with what is known for its line.

import { fillFields, fillLine } from './log-format.js'
import { beginRecord, endRecord, keepBody } from './remote-log.js'
import { beginSpan, endSpan } from './spans.js'
import { state } from './state.js'

// Standard output as a file: `toStdout` opens standard error, and Pipy ends at once when its own log, or the scripts before a reload, have done so too.
var logger = new logging.TextLogger('access').toFile('-')

/**
 * What is known of a request or connection so far. Anyone who serves it adds the rest: `head` of the answer, `isLocal` if that is of the sidecar itself, `cluster`
 * and `address` of what was called, the `gateway` to it if there is one, `attempts`, and `flag`, why there was no answer from there. The headers of a request name its trace afterwards.
 *
 * @param conn - `{ source, sourcePort, local, hello, session }`
 * @param request - see request.js; undefined for a connection that is not HTTP
 */
export function beginEntry(direction, conn, request) {
  state.underWay = state.underWay + 1
  var config = request && state.runtime ? state.runtime.config : undefined
  var trace = config && config.tracing ? beginSpan(direction, request.headers) : undefined
  var record = config && config.remoteLog ? beginRecord(direction, request.headers, trace) : undefined
  return { direction, conn, request, trace, record, since: Date.now(), received: 0, sent: 0 }
}

/** The same for an ordinary request, see ordinary-requests.js, of which nothing else is kept. `id` is that of the service or port. */
export function beginOrdinaryEntry(direction, conn, record) {
  state.underWay = state.underWay + 1
  var now = Date.now()
  return {
    direction,
    conn,
    request: record.request,
    isOrdinary: true,
    since: now,
    read: now,
    received: record.length,
    sent: 0,
    id: record.id,
  }
}

/** Stands for the entry of what is not a request of a caller's own, which has no line. */
export function noEntry() {
  return { received: 0, sent: 0, ended: Date.now() }
}

/** Counts bytes of a request (`received`) or of its answer (`sent`). */
export function noteData(entry, side, data) {
  entry[side] = entry[side] + data.size
  if (entry.record) keepBody(entry.record, side, data)
}

/** Writes the line of what is over, and reports its span; once, no matter who sees the end first. */
export function writeEntry(entry) {
  if (entry.ended) return
  state.underWay = state.underWay - 1
  entry.ended = Date.now()
  if (entry.trace) endSpan(entry)
  if (entry.record) endRecord(entry)
  var config = state.runtime ? state.runtime.config : undefined
  if (!config || !config.accessLog) return
  if (entry.isOrdinary && !config.accessLogFormat) return logOrdinary(entry)
  var conn = entry.conn
  entry.host = config.workload.instance
  entry.source = conn.source
  entry.sourcePort = conn.sourcePort
  entry.local = conn.dialled ? conn.dialled.address + ':' + conn.dialled.port : conn.local
  entry.serverName = conn.hello ? (conn.hello.serverNames || [])[0] : undefined
  entry.peer = conn.session ? conn.session.peer : conn.peer
  var format = config.accessLogFormat
  if (!format) logger.log(JSON.stringify(usual(entry)))
  else if (format.line) logger.log(fillLine(format.line, entry))
  else logger.log(JSON.stringify(fillFields(format.fields, entry)))
}

var shownAt = { ms: 0, text: '' }

// The same line as that of {@link usual}, out of texts that have been written before: those of a request are kept with it, those of an address with its connection.
function logOrdinary(entry) {
  var conn = entry.conn
  var request = entry.request
  if (shownAt.ms !== entry.since)
    shownAt = { ms: entry.since, text: JSON.stringify(new Date(entry.since).toISOString()) }
  if (conn.shownAddress !== entry.address || conn.shownCluster !== entry.cluster) showConnection(entry)
  if (request.shown === undefined) request.shown = ',' + JSON.stringify(requestFacts(request)).substring(1)
  logger.log(
    '{"start_time":',
    shownAt.text,
    ',"duration":',
    entry.ended - entry.since,
    ',"bytes_received":',
    entry.received,
    ',"bytes_sent":',
    entry.sent,
    entry.flag ? ',"response_flags":"' + entry.flag + '","response_code":' : ',"response_flags":null,"response_code":',
    entry.head ? entry.head.status : 0,
    conn.shown,
    request.shown,
  )
}

function showConnection(entry) {
  var conn = entry.conn
  var facts = {
    direction: entry.direction,
    requested_server_name: conn.hello ? (conn.hello.serverNames || [])[0] || null : null,
    upstream_cluster: entry.cluster || null,
    upstream_host: entry.address || null,
    caller: conn.principal || null,
  }
  var text = JSON.stringify(facts)
  conn.shown = ',' + text.substring(1, text.length - 1)
  conn.shownAddress = entry.address
  conn.shownCluster = entry.cluster
}

// Queries stay out: they may hold what is not for a log.
function usual(entry) {
  var request = entry.request
  var facts = {
    start_time: new Date(entry.since).toISOString(),
    direction: entry.direction,
    duration: entry.ended - entry.since,
    bytes_received: entry.received,
    bytes_sent: entry.sent,
    response_flags: entry.flag || null,
    requested_server_name: entry.serverName || null,
    upstream_cluster: entry.cluster || null,
    upstream_host: entry.address || null,
    caller: entry.conn.principal || null,
  }
  if (entry.gateway) facts.egress_gateway = entry.gateway.upstream.id + ' ' + entry.gateway.address
  if (!request) return facts
  facts.response_code = entry.head ? entry.head.status : 0
  return Object.assign(facts, requestFacts(request))
}

function requestFacts(request) {
  return {
    method: request.method,
    path: request.path,
    authority: request.authority,
    protocol: request.protocol || null,
    user_agent: request.headers['user-agent'] || null,
    request_id: request.headers['x-request-id'] || null,
    x_forwarded_for: request.headers['x-forwarded-for'] || null,
  }
}
