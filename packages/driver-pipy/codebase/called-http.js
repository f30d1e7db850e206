// Requests of the workload: which destination they are for, what answers them, and how often they are tried.

import { absoluteForm } from './absolute-form.js'
import { backoff, connectErrors, isRetriable } from './retry.js'
import { closest, isNamedBy, splitAuthority } from './hosts.js'
import { countAnswer, isOpen } from './breaker.js'
import { askPlugins, showPlugins } from './plugins.js'
import { aboutRequest, answerEvents, answerParts, describeRequest, settleUpgrade, splitStatus } from './request.js'
import { firstMatch } from './match.js'
import { countRequest, countUpstream } from './metrics.js'
import { beginEntry, noEntry, noteData, writeEntry } from './access-log.js'
import { keepBody } from './remote-log.js'
import { beginCopies, keepForCopies, sendCopies } from './mirrors.js'
import { changeAnswer, changeRequest, redirectAnswer } from './route-changes.js'
import { remember } from './memo.js'
import { abandonCall, beginPause, beginTry, endTry, leaveCall, pause, startClocks, stopTryClock } from './tries.js'
import { requestUpstream, streamUpstream } from './upstream.js'
import { answerFor, failureOf, noteFailure } from './call-failures.js'
import { withoutRuns } from './path-rule.js'
import { state } from './state.js'
import { takeTurn } from './balance.js'
import { isBrokenOff, isDelimited } from './whole.js'
import { CONTINUE, continueHead, settleHead } from './http1-head.js'
import { withTrailers } from './http1-answers.js'
import { answerEnded, requestEnded, streamEnded } from './one-end.js'
import { answerBegins, answerEnds, answersFor, beginExchange, beginHTTP, isStreamed } from './http1.js'
import { onceEnded, requestsOf, serverOptions } from './http1-intake.js'

// The connection: `{ isForward }` for the forward proxy of explicit mode, else `{ dialled: { address, port } }`; `source` is the caller's address.
var $conn
// The request, what is called for it, and the answer if the sidecar gives one.
var $request
var $call
var $answer
var $since
var $done
// True from the head of an answer over HTTP/1.1 that says where it ends.
var $isDelimited
// True between the head of an answer by gRPC and its status, which comes last.
var $isAwaited
var $entry
var $exchange
var $status
var $trailers
// The head of the answer as it continues.
var $passed
// The route and the share of a request whose answer is changed, and the copies of the request.
var $changes
var $copies

// Statuses of gRPC, and those that are failures of a server.
var UNKNOWN = 2
var UNAVAILABLE = 14
var failures = [UNKNOWN, 4, 13, UNAVAILABLE]

var tryOnce = pipeline(($) =>
  $.onStart(() => beginTry($call))
    .wait(() => $call.ready)
    .pipe(attempt, () => [$call, $conn])
    .replaceMessageStart(judge)
    .replaceMessageEnd(endAnswer),
)

var settle = pipeline(($) => $.replaceStreamEnd(endStream).onEnd(leave))

/** Serves requests of the workload on one connection. */
export var callHTTP = pipeline(($) =>
  $.onStart((conn) => {
    $conn = conn
    $conn.calls = []
    beginHTTP(conn, true)
  })
    .replaceData((data) => requestsOf($conn, data))
    .replaceStreamEnd((end) => onceEnded($conn, end))
    // Pipy waits for the answers to callers that have disconnected.
    .handleStreamEnd(() => $conn.calls.forEach(abandonCall))
    .demuxHTTP(serverOptions)
    .to(($) =>
      $.handleMessageStart((start) => {
        $done = false
        $isAwaited = false
        $isDelimited = false
        $entry = undefined
        $status = undefined
        $changes = undefined
        $copies = undefined
        var refusal = settleHead(start.head, $conn.requests)
        $exchange = beginExchange($conn, start.head)
        if (refusal === CONTINUE) return beginContinue(start.head)
        $answer = refusal ? { status: refusal } : route(start.head)
        if (!$entry) {
          // What is refused before it is routed is answered as what it says it is.
          $request = describeRequest(start.head)
          $entry = beginEntry('outbound', $conn, $request)
        }
        $since = $entry.since
      })
        .handleData((data) => {
          noteData($entry, 'received', data)
          if ($copies) keepForCopies($copies, data)
        })
        .handleMessageEnd(() => {
          $entry.read = Date.now()
          if ($copies) sendCopies($copies)
          requestEnded($exchange)
        })
        .handleStreamEnd(() => $exchange && requestEnded($exchange))
        // Where a connection ends before a request has come, there is neither.
        .pipe(() => ($answer || !$call ? 'answer' : $call.retries ? 'retry' : 'call'), {
          answer: ($) =>
            $.replaceData()
              .replaceMessageStart(localAnswer)
              .replaceMessageEnd(() => new MessageEnd()),
          // What may be repeated is kept until its end; nothing else is.
          retry: ($) =>
            $.handleMessageEnd(() => startClocks($call))
              .repeat(again)
              .to(tryOnce)
              .pipe(settle),
          call: ($) =>
            $.handleMessageEnd(() => startClocks($call))
              .pipe(tryOnce)
              .pipe(settle),
        })
        .replaceMessageStart(passHead)
        .replaceData(passData)
        .replaceMessageEnd(passEnd)
        .replaceStreamEnd((end) => streamEnded($exchange, end))
        .onEnd(() => $entry && writeEntry($entry)),
    )
    .handleMessageStart((start) => answerBegins($conn, start.head))
    .replaceData((data) => answersFor($conn, data))
    .replaceMessageEnd((end) => answerEnds($conn, end)),
)

// The head of any answer on its way to the caller.
function passHead(start) {
  if ($exchange && $exchange.isEnded) return undefined
  $status = start.head.status
  $trailers = undefined
  $passed = start.head
  if ($changes) changeAnswer(start.head, $changes.route, $changes.share)
  var split = $request.isGrpc ? splitStatus(start) : undefined
  if (!split) return start
  $trailers = split.trailers
  return split.start
}

// A part of the body of any answer; nothing behind its end.
function passData(data) {
  if ($exchange && $exchange.isEnded) return undefined
  $entry.sent = $entry.sent + data.size
  if ($entry.record) keepBody($entry.record, 'sent', data)
  return data
}

function passEnd(end) {
  var last = $trailers && !(end.tail && end.tail.headers) ? new MessageEnd({ headers: $trailers }) : end
  if ($conn.requests.isHttp2 !== true && last.tail && last.tail.headers) $passed.trailers = last.tail.headers
  return answerEnded($exchange, last, $status)
}

// A caller waits for `100 Continue` before it sends a body.
function beginContinue(head) {
  $request = describeRequest(head)
  $answer = { status: CONTINUE }
  $entry = noEntry()
}

// Finds what is called. Gives an answer where nothing is.
function route(head) {
  if (!absoluteForm(head)) return { status: 400, body: 'bad request' }
  if (head.headers.upgrade !== undefined) settleUpgrade(head.headers)
  $request = describeRequest(head)
  $entry = beginEntry('outbound', $conn, $request)
  $call = undefined
  var runtime = state.runtime
  if (!runtime) return { status: 503, body: 'not configured yet' }
  var authority = splitAuthority($request.authority)
  var port = $conn.isForward ? 80 : $conn.dialled.port
  if (authority.port !== undefined) port = authority.port
  var named = runtime.calledByHost[authority.host + ':' + port]
  if ($conn.isMesh) {
    var service = serviceDialled(runtime, $conn.dialled, named, port)
    // HTTP/1.0 requires no host, and the sidecar of the workload reads HTTP/1.1.
    if (service && $request.headers.host === undefined && !head.authority) nameHost(head, service)
    // It was there when the connection was made.
    return service && service.routes ? toService(runtime, service, head) : { status: 404, body: 'no such service' }
  }
  if (named && $conn.isForward) return toService(runtime, named, head)
  return toOutside(runtime, authority, port, head)
}

function nameHost(head, service) {
  if (!head.headers) head.headers = $request.headers
  head.headers.host = service.hosts.find((host) => host.includes('.')) || service.hosts[0]
  $request.authority = head.headers.host
}

/** What was dialled is the service; the host of a request tells apart those that share addresses. */
export function serviceDialled(runtime, dialled, named, port) {
  var service = runtime.calledByAddress[dialled.address + ':' + dialled.port]
  if (!service || !service.sharedWith || !named || port !== dialled.port) return service
  return service.sharedWith.includes(named.id) ? named : service
}

function toService(runtime, service, head) {
  $request.path = withoutRuns($request.path)
  var found = routeOf(service)
  if (!found) return { status: 404, body: 'no such route' }
  var plugins = runtime.plugins['outbound-http']
  if (plugins.length > 0) {
    var answer = askPlugins(plugins, service.id, aboutRequest($request, undefined))
    if (answer) return answer
    $request.show = (head) => showPlugins(plugins, service.id, head)
  }
  $entry.id = service.id
  $entry.isMesh = true
  return begin(runtime, found, service.retries, undefined, head)
}

// The route of a request. Where routes look at methods and paths alone, those that have been found are remembered with the configuration.
function routeOf(service) {
  if (!service.decisions) return firstMatch(service.routes, $request)
  var text = $request.method + ' ' + $request.path
  var found = service.decisions.known.get(text)
  return found === undefined ? remember(service.decisions, text, firstMatch(service.routes, $request)) : found
}

function toOutside(runtime, authority, port, head) {
  var dialled = $conn.isForward ? undefined : $conn.dialled
  var rules = runtime.config.outside.filter(
    (rule) => rule.protocol === 'http' && rule.port === (dialled ? dialled.port : port),
  )
  // Requests must not choose another port than the one that was opened.
  var fits = (rule) =>
    port === rule.port || (authority.port === undefined && !rule.hosts.every((host) => host.startsWith('*')))
  var rule = closest(rules.filter(fits), (each) => each.hosts, authority.host)
  $request.named = port > 0 ? authority.host + ':' + port : undefined
  if (rule) {
    var found = firstMatch(rule.routes, $request)
    if (found) return begin(runtime, found, undefined, rule.wayOut, head)
    // Global egress has no say about hosts that a rule names.
    if (!runtime.config.egress || isNamedBy(rule.hosts, authority.host)) return { status: 404, body: 'no such route' }
  }
  if (!runtime.config.egress) {
    return $conn.isForward
      ? { status: 403, body: 'host is not in the mesh, and egress is off' }
      : { status: 404, body: 'no such host' }
  }
  if (!(port > 0) || authority.host === '') return { status: 400, body: 'bad host' }
  var others = dialled ? runtime.passthrough.dialled : runtime.passthrough.named
  return use(others, undefined, undefined, runtime.othersWay)
}

function begin(runtime, found, retries, way, head) {
  var share = takeTurn(found.turns)
  if (found.isChanged) $changes = { route: found, share }
  if (found.redirect) return redirectAnswer(found.redirect, $request, $conn.isForward)
  if (share && share.status !== undefined) return { status: share.status }
  var upstream = share ? runtime.upstreams[share.upstream] : undefined
  if (!upstream) return { status: 503, body: 'no upstream' }
  if (found.isChanged) changeRequest(head, $request, found, share)
  var answer = use(upstream, retries, found.timeoutMs, way)
  if (found.mirrors && !answer) $copies = beginCopies(found, head, $conn.source)
  return answer
}

function use(upstream, retries, timeoutMs, way) {
  var settings = upstream.settings
  var breaker = upstream.breaker
  if (breaker && isOpen(breaker, Date.now())) {
    // It answers in place of the route.
    $changes = undefined
    return { status: settings.breaker.status, body: settings.breaker.body }
  }
  if (settings.maxRequests !== undefined && upstream.load.requests >= settings.maxRequests) {
    return { status: 503, body: 'too many requests' }
  }
  // What may be repeated has to be kept.
  var streamed = !retries && !settings.http2 && isStreamed($conn, $request)
  $call = {
    upstream,
    retries,
    isStreamed: streamed,
    timeoutMs,
    way,
    source: $conn.source,
    dialled: $conn.dialled,
    named: $request.named,
    isAlone: streamed || $request.headers.upgrade !== undefined,
    attempts: 0,
    isRetry: false,
    turn: breaker ? breaker.turn : 0,
  }
  $entry.cluster = upstream.id
  upstream.load.requests = upstream.load.requests + 1
  $conn.calls.push($call)
  return undefined
}

// Asked when the try has what it needs: the answer of no one where it has no connection.
function attempt() {
  if (!$call.slot) return nowhere
  return $call.isStreamed ? streamUpstream : requestUpstream
}

var nowhere = pipeline(($) => $.replaceData().replaceMessage(() => new Message({ status: 502 })))

// The head of an answer: repeat, or let it pass. What the pool makes itself where no one answers has no headers.
function judge(start) {
  var head = start.head
  if (settleHead(head)) $call.failed = 'invalid'
  var headers = head.headers || {}
  var local =
    $call.failed === 'invalid' || ((head.status === 502 || head.status === 504) && Object.keys(headers).length === 0)
  var answer = {
    status: head.status,
    local: local ? failureOf($call, connectErrors.includes(head.statusText)) : undefined,
    grpcStatus: headers['grpc-status'] === undefined ? undefined : +headers['grpc-status'],
  }
  if (local) noteFailure($call, answer.local)
  if ($call.retries && wantsRepeat(answer)) return new StreamEnd('Replay')
  if (local) return unreachable()
  $done = true
  if ($call.tryClock) stopTryClock($call)
  $isDelimited = !$call.upstream.settings.http2 && head.status !== 101 && isDelimited(head)
  if (head.status === 101) settleUpgrade(head.headers)
  $isAwaited = $request.isGrpc && answer.grpcStatus === undefined && head.status === 200
  if (!$isAwaited && $call.upstream.breaker) count(head.status, answer.grpcStatus)
  finish(head, false)
  if ($request.show) $request.show(head)
  return start
}

function wantsRepeat(answer) {
  var retries = $call.retries
  if (!retries || $call.isOver || !isRetriable(retries.on, answer)) return false
  if ($call.attempts >= retries.times) {
    countUpstream($call.upstream, 'upstream_rq_retry_limit_exceeded')
    return false
  }
  var limit = $call.upstream.settings.maxRetries
  if (limit !== undefined && $call.upstream.load.retries >= limit) {
    countUpstream($call.upstream, 'upstream_rq_retry_overflow')
    return false
  }
  $call.again = true
  countUpstream($call.upstream, 'upstream_rq_retry')
  return true
}

// Asked when a try has ended.
function again(end) {
  if ($done) return false
  var reason = failureOf($call, false)
  if (!$call.again) noteFailure($call, reason)
  // A connection that breaks, or fails in its handshake, ends without a word.
  if (!$call.again && !wantsRepeat({ status: reason === 'timeout' ? 504 : 503, local: reason })) return false
  $call.again = false
  // Anyone who has failed does not continue, so that what others share is not closed for it. What no one shares is: tries of one request have variables in common.
  $call.isAnswered = $call.capacity > 1
  endTry($call)
  beginPause($call)
  countUpstream($call.upstream, 'upstream_rq_retry_backoff_exponential')
  var wait = backoff($call.retries.backoffMs, $call.attempts, Math.random())
  $call.attempts = $call.attempts + 1
  return wait > 0 ? pause($call, wait) : true
}

// The end of an answer. One that was cut off must not look whole.
function endAnswer(end) {
  var isBroken = $isDelimited && isBrokenOff(end)
  if (isBroken && !$call.failed) $entry.flag = 'UC'
  if ($done && ($call.failed || isBroken)) $conn.isCutOff = true
  $call.isAnswered = !isBroken
  if ($isAwaited) {
    $isAwaited = false
    var headers = (end.tail && end.tail.headers) || {}
    count(200, headers['grpc-status'] === undefined ? UNKNOWN : +headers['grpc-status'])
  }
  return $isDelimited && !isBroken ? withTrailers($call.link.reader, end) : end
}

// The end of what came of all tries.
function endStream(end) {
  if ($isAwaited) {
    $isAwaited = false
    count(200, UNAVAILABLE)
  }
  if ($done) return end
  noteFailure($call, failureOf($call, false))
  return [unreachable(), end]
}

function unreachable() {
  $done = true
  var answer = answerFor($call)
  $entry.flag = answer.flag
  $call.failed = undefined
  var parts = answerParts(answer, $request.isGrpc)
  count(answer.status, undefined)
  finish({ status: answer.status, headers: {} }, true)
  return new Message(parts.head, parts.body)
}

function localAnswer() {
  if ($answer.status === CONTINUE) return new MessageStart(continueHead())
  var parts = answerParts($answer, $request.isGrpc)
  noteAnswer(parts.head, true, Date.now())
  return answerEvents(parts)
}

// Tells the circuit breaker how it went.
function count(status, grpcStatus) {
  var breaker = $call.upstream.breaker
  if (!breaker) return
  var now = Date.now()
  countAnswer(breaker, $call.turn, status >= 500 || failures.includes(grpcStatus), now - $since, now)
}

function finish(head, isLocal) {
  var now = Date.now()
  countRequest($call.upstream, head, now - $since)
  if (!isLocal && $call.attempts > 0) countUpstream($call.upstream, 'upstream_rq_retry_success')
  noteAnswer(head, isLocal, now)
}

function noteAnswer(head, isLocal, now) {
  $entry.head = head
  $entry.isLocal = isLocal
  if ($call) {
    $entry.address = $call.address
    $entry.gateway = $call.gateway
    $entry.attempts = $call.attempts + 1
  }
  $entry.answered = now
}

function leave() {
  leaveCall($call)
  var calls = $conn.calls
  if (calls.length === 1 && calls[0] === $call) calls.pop()
  else $conn.calls = calls.filter((call) => call !== $call)
  $call.upstream.load.requests = $call.upstream.load.requests - 1
}
