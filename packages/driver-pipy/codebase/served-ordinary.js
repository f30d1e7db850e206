// Requests of callers of the mesh that take the short way to the workload; see ordinary-requests.js.

import { beginOrdinaryEntry, writeEntry } from './access-log.js'
import { WORKLOAD_IDLE_SECONDS, silenceSeconds } from './idle.js'
import { workloadHeaders } from './metrics.js'
import { endOrdinaryAnswer, expectAnswer, fieldsOf, makeAnswerHeads } from './ordinary-answers.js'
import { makeOrdinaryAnswers, ownAnswer, readOrdinaryAnswer, textOfAnswer } from './ordinary-answers.js'
import { beginOrdinary, beginsMessage, endOfMessage, isOrdinary, readOrdinary } from './ordinary-requests.js'
import { ordinaryHead, ordinaryRequest, recordOfRequest } from './ordinary-requests.js'
import { acceptedPath } from './path-rule.js'
import { isAllowedCaller, isHealthCheck, removeOtherSpellings, removeWithheldHeaders } from './served-http.js'
import { repeatable, serveHTTP } from './served-http.js'
import { state } from './state.js'

// The connection, see served-http.js, and one request of it.
var $conn
var $record
var $entry
// The answer of the sidecar itself.
var $own
var $isRepeated
// What is known of a connection to the workload: `{ answers, outbound, isConnected }`.
var $link

// Heads of answers of the workload, with its names for the metrics of the caller.
var answerHeads = makeAnswerHeads((head) => {
  var about = { status: head.code, headers: fieldsOf(head) }
  workloadHeaders(about)
  return { head: about, written: textOfAnswer(head, about.headers) }
})

// One request to the workload.
var forwardOnce = pipeline(($) =>
  $.mux(
    () => {
      var own = $conn.ordinary
      if (own.link.answers) expectAnswer(own.link.answers, $record.method)
      return own.key
    },
    () => ({ maxQueue: 1, maxIdle: WORKLOAD_IDLE_SECONDS }),
  ).to(($) =>
    $.onStart((key) => {
      $link = key.link
      $link.isConnected = false
      $link.answers = makeOrdinaryAnswers(answerHeads)
      expectAnswer($link.answers, $record.method)
    })
      .connect(
        () => $record.address,
        () => ({ idleTimeout: silenceSeconds(state.runtime.config), onState: noteState($link) }),
      )
      .replaceData((data) => readOrdinaryAnswer($link.answers, data, state.runtime.config))
      .replaceStreamEnd((end) => endOrdinaryAnswer($link.answers, end)),
  ),
)

var ordinary = pipeline(($) =>
  $.onStart(() => {
    beginOrdinary($conn)
    // Callers share no connection to the workload: all that one requested ends with it. Pipy keeps a connection by its key, which nothing that lives as long may refer to.
    $conn.ordinary.key = { link: {} }
  })
    .replaceData((data) => readOrdinary($conn, data, state.runtime, $conn.served, recordOf))
    .replaceStreamEnd(endOfCaller)
    .demux()
    .to(($) =>
      $.pipe(begin, {
        strict: ($) =>
          $.replaceMessageStart()
            .pipe(serveHTTP, () => $conn)
            .replaceMessageStart((start) => beginsMessage($conn.ordinary, start))
            .replaceMessageEnd(),
        forward: ($) => $.repeat(mayRepeat).to(forwardOnce).replaceStreamEnd(fail),
      }).onEnd(leave),
    )
    .replaceMessageEnd((end) => endOfMessage($conn.ordinary, end)),
)

/** Serves HTTP on a connection whose caller, of the mesh, is known. */
export var serveRequests = pipeline(($) =>
  $.onStart((conn) => void ($conn = conn)).pipe(way, {
    strict: ($) => $.pipe(serveHTTP, () => $conn),
    ordinary: ($) => $.pipe(ordinary),
  }),
)

// The first bytes of a connection decide whether it begins with ordinary requests.
function way(event) {
  if (!(event instanceof Data)) return 'strict'
  if (event.size === 0) return undefined
  if ($conn.kind !== 'mesh' || $conn.principal === undefined) return 'strict'
  $conn.served = $conn.id + ' ' + $conn.principal
  return isOrdinary($conn, event, state.runtime, $conn.served, recordOf) ? 'ordinary' : 'strict'
}

function endOfCaller(end) {
  var own = $conn.ordinary
  if (own.hasEnded) return undefined
  own.hasEnded = true
  // Pipy crashes when an answer comes to a caller that is gone.
  var outbound = own.key.link.outbound
  if (outbound) outbound.close()
  return end
}

// Its own function: Pipy frees no closure that is in a variable of the scope that it closes over, if other closures use that variable.
function noteState(link) {
  return (outbound) => {
    if (outbound.state === 'connected') link.isConnected = true
    // The next connection may be there before it says that this one is closed.
    if (outbound.state !== 'closed') link.outbound = outbound
    else if (link.outbound === outbound) link.outbound = undefined
  }
}

// What is decided on the head of a request of one caller to one port; undefined where it is not so plain, or not allowed.
function recordOf(conn, text) {
  var runtime = state.runtime
  var config = runtime.config
  var port = runtime.servedById[conn.id]
  if (!port || port.protocol !== 'http' || config.tracing || config.remoteLog) return undefined
  if (port.requestLimit || port.rules.kind !== 'http' || port.rules.limits.length > 0) return undefined
  if (runtime.plugins['inbound-http'].length > 0) return undefined
  var head = ordinaryHead(text)
  if (!head || isHealthCheck(conn, head)) return undefined
  removeWithheldHeaders(head.headers)
  var path = acceptedPath(head.path, config.keepsEscapedSlashes)
  var request = path ? ordinaryRequest(head) : undefined
  if (!request) return undefined
  request.readings = path.readings
  request.path = path.path
  request.fullPath = path.path + path.query
  head.path = request.fullPath
  if (!isAllowedCaller(port, request, conn.principal)) return undefined
  if (port.namedHeaders) removeOtherSpellings(head.headers, port.namedHeaders)
  var record = recordOfRequest(text, head, request)
  record.address = port.local
  record.id = port.id
  return record
}

function begin() {
  var own = $conn.ordinary
  if (own.isStrict) return 'strict'
  $record = own.record
  own.link = own.key.link
  $entry = beginOrdinaryEntry('inbound', $conn, $record)
  $entry.cluster = $record.id
  $entry.address = $record.address
  return 'forward'
}

// A workload that closes an idle connection may not have seen what came over it; see mayRepeat of served-http.js.
function mayRepeat() {
  var own = $conn.ordinary
  var link = own.key.link
  if ($isRepeated || own.hasEnded || !link.isConnected || !repeatable.includes($record.method)) return false
  if (link.answers.record || link.answers.isRefused) return false
  $isRepeated = true
  return true
}

// The workload does not answer, or what cannot be passed on.
function fail(end) {
  if ($own) return undefined
  var answers = $conn.ordinary.link.answers
  // A caller may repeat what has no answer at all.
  if (answers && answers.record) return end
  $own =
    answers && answers.isRefused
      ? { status: 502, body: 'invalid answer of the workload' }
      : { status: 503, body: 'workload unavailable' }
  $conn.ordinary.link = undefined
  var about = { headers: {} }
  workloadHeaders(about)
  return ownAnswer($record.method, $own, about.headers)
}

function leave() {
  var entry = $entry
  if (!entry) return
  var answers = $own ? undefined : $conn.ordinary.key.link.answers
  var answer = answers ? answers.record : undefined
  if (answer) {
    entry.head = answer.head
    entry.answered = answers.answered
    entry.sent = answers.sent
    if (!answers.isWhole) entry.flag = 'UC'
  } else if ($own) {
    entry.head = { status: $own.status, headers: {} }
    entry.isLocal = true
    entry.flag = 'UF'
    entry.answered = Date.now()
    entry.sent = $own.body.length
  }
  writeEntry(entry)
}
