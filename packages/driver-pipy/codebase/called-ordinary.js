// Requests of the workload that take the short way; see ordinary-requests.js.

import { beginOrdinaryEntry, writeEntry } from './access-log.js'
import { takeTurn } from './balance.js'
import { answerFor, failureOf, noteFailure } from './call-failures.js'
import { absoluteForm } from './absolute-form.js'
import { callHTTP, serviceDialled } from './called-http.js'
import { splitAuthority } from './hosts.js'
import { firstMatch } from './match.js'
import { countAnswered, seriesOfAnswer } from './metrics.js'
import { ownAnswer } from './ordinary-answers.js'
import { beginOrdinary, beginsMessage, endOfMessage, isOrdinary, readOrdinary } from './ordinary-requests.js'
import { ordinaryHead, ordinaryRequest, recordOfRequest } from './ordinary-requests.js'
import { withoutRuns } from './path-rule.js'
import { changeRequest, isStrictRoute } from './route-changes.js'
import { state } from './state.js'
import { abandonCall, beginPlainTry, leavePlainCall } from './tries.js'
import { ordinaryUpstream } from './upstream.js'

// The connection, see called-http.js, and one request of it.
var $conn
var $call
var $record
var $entry
// The answer of the sidecar itself.
var $own

var ordinary = pipeline(($) =>
  $.onStart(() => beginOrdinary($conn))
    .replaceData((data) => readOrdinary($conn, data, state.runtime, $conn.called, recordOf))
    .replaceStreamEnd(endOfCaller)
    .demux()
    .to(($) =>
      $.pipe(begin, {
        strict: ($) =>
          $.replaceMessageStart()
            .pipe(callHTTP, () => $conn)
            .replaceMessageStart((start) => beginsMessage($conn.ordinary, start))
            .replaceMessageEnd(),
        call: ($) => $.pipe(ordinaryUpstream, () => $call).replaceStreamEnd(fail),
        nowhere: ($) => $.replaceData().replaceMessageStart().replaceMessageEnd(fail),
      }).onEnd(leave),
    )
    .replaceMessageEnd((end) => endOfMessage($conn.ordinary, end)),
)

/** Serves requests of the workload on one connection. */
export var callRequests = pipeline(($) =>
  $.onStart((conn) => void ($conn = conn)).pipe(way, {
    strict: ($) => $.pipe(callHTTP, () => $conn),
    ordinary: ($) => $.pipe(ordinary),
  }),
)

// The first bytes of a connection decide whether it begins with ordinary requests.
function way(event) {
  if (!(event instanceof Data) || !state.runtime) return 'strict'
  if (event.size === 0) return undefined
  var dialled = $conn.dialled
  $conn.called = $conn.isForward
    ? 'called'
    : $conn.isMesh && dialled
      ? 'called ' + dialled.address + ':' + dialled.port
      : ''
  if ($conn.called === '') return 'strict'
  return isOrdinary($conn, event, state.runtime, $conn.called, recordOf) ? 'ordinary' : 'strict'
}

function endOfCaller(end) {
  var own = $conn.ordinary
  if (own.hasEnded) return undefined
  own.hasEnded = true
  // Pipy waits for the answers to callers that have disconnected.
  if (own.call) abandonCall(own.call)
  return end
}

// What is decided on the head of a request to a service of the mesh; undefined where it is not so plain.
function recordOf(conn, text) {
  var runtime = state.runtime
  var config = runtime.config
  if (config.tracing || config.remoteLog || runtime.plugins['outbound-http'].length > 0) return undefined
  var head = ordinaryHead(text)
  if (!head || !absoluteForm(head)) return undefined
  var request = ordinaryRequest(head)
  if (!request) return undefined
  var authority = splitAuthority(request.authority)
  var port = conn.isForward ? 80 : conn.dialled.port
  if (authority.port !== undefined) port = authority.port
  var named = runtime.calledByHost[authority.host + ':' + port]
  var service = conn.isForward ? named : serviceDialled(runtime, conn.dialled, named, port)
  if (!service || !service.routes || service.retries) return undefined
  request.path = withoutRuns(request.path)
  var route = firstMatch(service.routes, request)
  if (!route || route.timeoutMs > 0 || isStrictRoute(route)) return undefined
  if (!route.turns.every((turn) => isPlain(runtime.upstreams[turn.element.upstream]))) return undefined
  if (route.isChanged) changeRequest(head, request, route, undefined)
  var record = recordOfRequest(text, head, request)
  record.id = service.id
  record.turns = route.turns
  return record
}

// An upstream without anything that has to be looked at for each request.
function isPlain(upstream) {
  if (!upstream || upstream.breaker) return false
  var settings = upstream.settings
  if (!settings.tls || settings.http2 || settings.outsideTls || settings.addresses.kind !== 'endpoints') return false
  var limits = [settings.maxRequests, settings.maxPending, settings.maxConnections, settings.maxRequestsPerConnection]
  return limits.every((limit) => limit === undefined)
}

function begin() {
  var own = $conn.ordinary
  if (own.isStrict) return 'strict'
  $record = own.record
  $entry = beginOrdinaryEntry('outbound', $conn, $record)
  $entry.isMesh = true
  var turns = $record.turns
  var share = turns.length === 1 ? turns[0].element : takeTurn(turns)
  var upstream = state.runtime.upstreams[share.upstream]
  $entry.cluster = upstream.id
  $call = {
    upstream,
    source: $conn.source,
    isOrdinary: true,
    isSent: true,
    isAnswered: false,
    method: $record.method,
    attempts: 0,
  }
  upstream.load.requests = upstream.load.requests + 1
  own.call = $call
  beginPlainTry($call)
  own.link = $call.link
  return $call.slot ? 'call' : 'nowhere'
}

// No answer has come, or none that can be passed on.
function fail() {
  if ($own) return undefined
  var call = $call
  var link = call.link
  if (link && link.answers && link.answers.isRefused && !call.failed) call.failed = 'invalid'
  noteFailure(call, failureOf(call, false))
  $own = answerFor(call)
  call.failed = undefined
  $conn.ordinary.link = undefined
  return ownAnswer(call.method, $own, {})
}

function leave() {
  var call = $call
  if (!call) return
  var answers = $own || !call.link ? undefined : call.link.answers
  var answer = answers ? answers.record : undefined
  var entry = $entry
  if (answer) {
    entry.head = answer.head
    entry.answered = answers.answered
    entry.sent = answers.sent
    call.isAnswered = answers.isWhole && answers.at === 'idle'
    if (!answers.isWhole && !call.failed) entry.flag = 'UC'
    countAnswered(call.upstream, answer.head.status, answer.series, entry.answered - entry.since)
  } else if ($own) {
    entry.head = { status: $own.status, headers: {} }
    entry.isLocal = true
    entry.flag = $own.flag
    entry.answered = Date.now()
    entry.sent = $own.body.length
    countAnswered(call.upstream, $own.status, seriesOfAnswer({}), entry.answered - entry.since)
  } else entry.flag = 'DC'
  entry.address = call.address
  entry.attempts = 1
  leavePlainCall(call)
  call.upstream.load.requests = call.upstream.load.requests - 1
  if ($conn.ordinary.call === call) $conn.ordinary.call = undefined
  writeEntry(entry)
}
