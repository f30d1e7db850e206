// Requests to the workload: the path rule, who may ask, how often, and then the workload itself.

import { hasName, mayCall } from './callers.js'
import { WORKLOAD_IDLE_SECONDS, silenceSeconds } from './idle.js'
import { firstMatch, matchesReadings, matchesRequest } from './match.js'
import { acceptedPath, hasEscapedSlash } from './path-rule.js'
import { beginCall, closeAll, connectionsFor, endCall, noteLink } from './shared-connections.js'
import { makeMemo, recall, remember } from './memo.js'
import { askPlugins, showPlugins } from './plugins.js'
import { connectErrors } from './retry.js'
import { aboutRequest, answerEvents, answerParts, describeRequest, settleUpgrade, splitStatus } from './request.js'
import { beginEntry, noEntry, noteData, writeEntry } from './access-log.js'
import { keepBody } from './remote-log.js'
import { state, track } from './state.js'
import { takeToken } from './bucket.js'
import { countLimitedRequest, workloadHeaders } from './metrics.js'
import { isBrokenOff, isDelimited } from './whole.js'
import { CONTINUE, continueHead, settleHead } from './http1-head.js'
import { withTrailers } from './http1-answers.js'
import { answerEnded, requestEnded, streamEnded } from './one-end.js'
import { answerBegins, answerEnds, answersFor, askerOf, beginExchange, beginHTTP } from './http1.js'
import { isStreamed, streamRequest } from './http1.js'
import { maxHeaderSize, onceEnded, requestsOf, serverOptions } from './http1-intake.js'

// Headers that applications have been known to take for a caller's identity. No header is proof of one.
var identityHeaders = ['x-forwarded-client-cert', 'serviceidentity']
// Headers that give orders to proxies. Policy alone says what they would say.
var orderPrefix = 'x-envoy-'
/** Methods that change nothing at the workload. */
export var repeatable = ['GET', 'HEAD', 'OPTIONS']
var withheld = makeMemo(500, 1024)

// Says which setting lets such a path through.
var escapedSlashHint = ': it has an escaped slash or backslash, see spec.traffic.escapedSlashes of the MeshConfig'

// The connection: `{ kind: 'mesh' | 'ingress', id, source, session, principal }`.
var $conn
// The request: what it says, the answer if the sidecar gives one, and the port that serves it.
var $request
var $answer
var $port
var $entry
var $local
var $isWhole
// True from the head of an answer over HTTP/1.1 that says where it ends.
var $isDelimited
var $exchange
var $status
var $trailers
// The head of the answer as it continues.
var $passed

// One request to the workload, over a connection of its own or one that calls share.
var forwardOnce = pipeline(($) =>
  $.onStart(() => {
    $isWhole = false
    $isDelimited = false
    if ($local.shared) beginCall($local.shared)
  })
    .muxHTTP(
      () => $local.shared || $local.key,
      () => ({
        version: $port.protocol === 'http2' ? 2 : 1,
        maxQueue: $port.protocol === 'http2' ? 100 : 1,
        maxIdle: WORKLOAD_IDLE_SECONDS,
        maxHeaderSize,
      }),
    )
    .to(($) =>
      $.pipe(
        () => askerOf($local.repeats, $port.protocol === 'http2'),
        () => [connectLocal, $local.link],
      ),
    )
    .replaceMessageEnd(endOfAnswer)
    .replaceMessageStart(finish),
)

/** Serves HTTP on a connection whose caller is known. */
export var serveHTTP = pipeline(($) =>
  $.onStart((conn) => {
    $conn = conn
    // Callers share no connection to the workload: all that one requested ends with it.
    $conn.outbounds = []
    $conn.keys = {}
    beginHTTP(conn, true)
  })
    .replaceData((data) => requestsOf($conn, data))
    .replaceStreamEnd((end) => onceEnded($conn, end))
    // Pipy waits for the answers to callers that have disconnected.
    .handleStreamEnd(() => {
      $conn.isGone = true
      if ($conn.shared) closeAll($conn.shared)
      if ($conn.tunnel) $conn.tunnel.close()
      // Pipy crashes when an answer comes to a caller that is gone.
      $conn.outbounds.forEach((outbound) => outbound.close())
    })
    .demuxHTTP(serverOptions)
    .to(($) =>
      $.handleMessageStart((start) => {
        var refusal = settleHead(start.head, $conn.requests)
        if (start.head.headers.upgrade !== undefined) settleUpgrade(start.head.headers)
        removeWithheldHeaders(start.head.headers)
        $request = describeRequest(start.head)
        $entry = refusal === CONTINUE ? noEntry() : beginEntry('inbound', $conn, $request)
        $port = portOf($conn)
        $entry.id = $conn.id
        $exchange = beginExchange($conn, start.head)
        $status = undefined
        $answer = refusal ? { status: refusal } : decide(start.head)
      })
        .handleData((data) => noteData($entry, 'received', data))
        .handleMessageEnd(() => {
          $entry.read = Date.now()
          requestEnded($exchange)
        })
        .handleStreamEnd(() => $exchange && requestEnded($exchange))
        // Where a connection ends before a request has come, there is neither.
        .pipe(() => ($answer || !$local ? 'answer' : $local.way), {
          answer: ($) =>
            $.replaceData()
              .replaceMessageStart(() => {
                if ($answer.status === CONTINUE) return new MessageStart(continueHead())
                var parts = answerParts($answer, $request.isGrpc)
                if ($conn.kind === 'mesh') workloadHeaders(parts.head)
                noteAnswer(parts.head, true)
                if (!$port) $conn.isOver = true
                return answerEvents(parts)
              })
              .replaceMessageEnd(() => new MessageEnd()),
          stream: ($) =>
            $.onStart(() => {
              $isWhole = false
              $isDelimited = false
            })
              .pipe(streamRequest, () => [connectLocal, $local.link, $conn])
              .onEnd(() => forgetOutbound($conn, $local))
              .replaceMessageEnd(endOfAnswer)
              .replaceMessageStart(finish)
              .replaceStreamEnd((end) => ($answer ? end : [unavailable(), end])),
          forward: ($) => $.pipe(forwardOnce).onEnd(leaveForward).replaceStreamEnd(endOfForward),
          // Kept until its end, to be sent again.
          repeatable: ($) => $.repeat(mayRepeat).to(forwardOnce).onEnd(leaveForward).replaceStreamEnd(endOfForward),
        })
        .replaceMessageStart(passHead)
        .replaceData(passData)
        .replaceMessageEnd(passEnd)
        .replaceStreamEnd((end) => streamEnded($exchange, end))
        .onEnd(() => $entry && writeEntry($entry)),
    )
    // A port that is not served any more takes no new connections either: callers that keep one open are to notice.
    .handleMessageStart((start) => answerBegins($conn, start.head))
    .replaceData((data) => answersFor($conn, data))
    .replaceMessageEnd((end) => answerEnds($conn, end)),
)

// The connection to the workload.
var connectLocal = pipeline(($) =>
  $.connect(
    () => $local.address,
    () => {
      var conn = $conn
      var local = $local
      return {
        idleTimeout: silenceSeconds(state.runtime.config),
        onState: (outbound) => noteLocal(conn, local, outbound),
      }
    },
  ),
)

// The head of any answer on its way to the caller.
function passHead(start) {
  if ($exchange && $exchange.isEnded) return undefined
  $status = start.head.status
  $trailers = undefined
  $passed = start.head
  var split = $request.isGrpc ? splitStatus(start) : undefined
  if (!split) return start
  $trailers = split.trailers
  // A sidecar decides by the head whether to try again.
  return $conn.kind === 'mesh' ? start : split.start
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

// The port as the configuration of now has it; undefined if it is not served any more.
function portOf(conn) {
  var runtime = state.runtime
  if (conn.kind === 'mesh') return runtime.servedById[conn.id]
  return runtime.config.ingress.find((port) => port.id === conn.id)
}

// What the sidecar answers itself; undefined if the request goes to the workload.
function decide(head) {
  if (!$port) return { status: 403 }
  if (isHealthCheck($conn, head)) return state.isDraining ? { status: 503, body: 'draining' } : { status: 200 }
  var keeps = state.runtime.config.keepsEscapedSlashes
  var path = acceptedPath($request.fullPath, keeps)
  if (!path) {
    var hint = !keeps && hasEscapedSlash($request.fullPath) ? escapedSlashHint : ''
    return { status: 400, body: 'path not allowed' + hint }
  }
  $request.readings = path.readings
  $request.path = path.path
  $request.fullPath = path.path + path.query
  head.path = $request.fullPath
  if (!isAllowedHere($port)) return { status: 403, body: 'access denied' }
  var rules = $conn.kind === 'mesh' ? $port.rules.limits : $port.limits
  var own = rules.length > 0 ? firstMatch(rules, $request) : undefined
  var limit = own ? own.limit : $port.requestLimit
  var bucket = own ? own.bucket : $port.requestBucket
  if (limit) {
    var isTaken = takeToken(bucket, Date.now())
    countLimitedRequest(isTaken)
    if (!isTaken) return { status: limit.status, headers: limit.headers }
  }
  if ($port.namedHeaders) removeOtherSpellings(head.headers, $port.namedHeaders)
  var plugins = state.runtime.plugins['inbound-http']
  if (plugins.length > 0) {
    var answer = askPlugins(plugins, $port.id, aboutRequest($request, $conn.principal))
    if (answer) return answer
  }
  var name = $port.local + ' ' + $port.protocol
  var streamed = $port.protocol !== 'http2' && isStreamed($conn, $request)
  // An upgraded connection has no one else on it, so that it can be ended when access is withdrawn.
  var isAlone = streamed || $request.headers.upgrade !== undefined
  $local = {
    isAlone,
    way: 'forward',
    repeats: 0,
    key: isAlone ? makeKey(name) : takeKey($conn, name),
    address: $port.local,
  }
  if (streamed) $local.way = 'stream'
  else if (!isAlone && $port.protocol !== 'http2' && repeatable.includes($request.method)) $local.way = 'repeatable'
  $local.link = $local.key.link
  $entry.cluster = $port.id
  $entry.address = $port.local
  if (!isAlone && $port.protocol === 'http2') $local.shared = connectionsFor($conn)
  return undefined
}

// Each request under way has a key, and with it a connection, to itself. What a connection holds must not hold its key: Pipy closes those whose keys are gone.
function takeKey(conn, name) {
  var idle = conn.keys[name]
  if (!idle) conn.keys[name] = []
  return idle && idle.length > 0 ? idle.pop() : makeKey(name)
}

function makeKey(name) {
  return { name, link: {} }
}

function leaveKey(conn, local) {
  if (!local.isAlone) conn.keys[local.key.name].push(local.key)
}

/** Removes what no one may send. No rule may look at it either: anyone who calls could meet it. */
export function removeWithheldHeaders(headers) {
  if (!headers) return
  var names = Object.keys(headers)
  var found = recall(withheld, names.join(' '), withheldAmong)
  for (var i = 0; i < found.length; i = i + 1) delete headers[found[i]]
}

// Names have no spaces.
function withheldAmong(names) {
  return names.split(' ').filter(isWithheld)
}

/** Applications behind CGI or WSGI read `x_role` and `x-role` as one header: what no rule has looked at does not come in under a name that one looks at. */
export function removeOtherSpellings(headers, named) {
  if (named.length === 0) return
  var folded = named.map(fold)
  Object.keys(headers).forEach((name) => {
    if (folded.includes(fold(name)) && !named.includes(name)) delete headers[name]
  })
}

function isWithheld(name) {
  var folded = fold(name)
  return identityHeaders.includes(folded) || folded.startsWith(orderPrefix)
}

function fold(name) {
  return name.split('_').join('-')
}

/** Other sidecars ask whether this one is there, whatever they may ask of the workload. */
export function isHealthCheck(conn, head) {
  var check = state.runtime.config.healthCheck
  return Boolean(check && conn.kind === 'mesh' && head.path === check.path && head.headers[check.header] === '1')
}

// The same as isAllowed. Where rules look at methods and paths alone, what they say of a caller is remembered with the configuration; it was never asked of another port.
function isAllowedHere(port) {
  if (!port.decisions || $conn.principal === undefined || $request.readings.length > 0) return isAllowed(port)
  var text = $conn.principal + ' ' + $request.method + ' ' + $request.path
  var found = port.decisions.known.get(text)
  return found === undefined ? remember(port.decisions, text, isAllowed(port)) : found
}

function isAllowed(port) {
  if (!port) return false
  if ($conn.kind === 'ingress') return isCaller(port) && port.matches.some(isMet)
  return isAllowedCaller(port, $request, $conn.principal)
}

/** True if the rules of a port let a caller of the mesh make a request. */
export function isAllowedCaller(port, request, principal) {
  if (port.rules.kind !== 'http') return false
  var callers = state.runtime.config.callers
  return port.rules.allow.some(
    (rule) =>
      matchesRequest(rule.match, request) &&
      matchesReadings(rule.match, request.readings) &&
      mayCall(callers[rule.callers], principal),
  )
}

function isMet(match) {
  return matchesRequest(match, $request) && matchesReadings(match, $request.readings)
}

// Whether a caller from outside is one of those that the port takes now, which may not be what it took when the connection came.
function isCaller(port) {
  if (!port.ranges.some((range) => range.contains($conn.source))) return false
  if (port.tls === 'none') return !$conn.session
  if (!$conn.session) return false
  return port.tls === 'tls' || hasName($conn.session.peer, port.names || [])
}

function noteLocal(conn, local, outbound) {
  local.outbound = outbound.state === 'closed' ? undefined : outbound
  if (outbound.state === 'closed') conn.outbounds = conn.outbounds.filter((each) => each !== outbound)
  else if (!conn.outbounds.includes(outbound)) conn.outbounds.push(outbound)
  if (outbound.state === 'closed' && local.forget) local.forget()
  if (local.shared) noteLink(local.shared, outbound)
}

// Asked when the workload's side has ended. A workload that closes an idle connection may not have seen what came over it: what changes nothing is sent once more,
// over a new connection, unless no connection could be made.
function mayRepeat() {
  if ($answer || $conn.isGone || $local.isRefused || $local.repeats > 0) return false
  $local.repeats = 1
  $local.key = makeKey($local.key.name)
  $local.link = $local.key.link
  return true
}

function leaveForward() {
  if ($local.shared) endCall($local.shared, $isWhole)
  leaveKey($conn, $local)
}

function endOfForward(end) {
  return $answer ? end : [unavailable(), end]
}

// The connection of one request ends with it. What its own callbacks refer to must not refer to it: Pipy frees no cycles.
function forgetOutbound(conn, local) {
  var outbound = local.outbound
  local.outbound = undefined
  conn.outbounds = conn.outbounds.filter((each) => each !== outbound)
}

function unavailable() {
  return failed({ status: 503, body: 'workload unavailable' })
}

// The workload answers what is not HTTP, or what cannot be passed on.
function invalid() {
  return failed({ status: 502, body: 'invalid answer of the workload' })
}

function failed(answer) {
  $answer = answer
  var parts = answerParts($answer, $request.isGrpc)
  $entry.flag = 'UF'
  noteAnswer($answer, true)
  return new Message(parts.head, parts.body)
}

// The head of the workload's answer on its way back.
function finish(start) {
  var head = start.head
  if ($answer) return start
  // Made by the pool itself where the workload could not be reached.
  if (head.status === 502 && Object.keys(head.headers || {}).length === 0) {
    if ($local.way !== 'repeatable') return unavailable()
    $local.isRefused = connectErrors.includes(head.statusText)
    return new StreamEnd('Replay')
  }
  if (settleHead(head)) return invalid()
  $answer = head
  if (head.status === 101) {
    settleUpgrade(head.headers)
    watchTunnel()
  }
  $isDelimited = $port.protocol !== 'http2' && head.status !== 101 && isDelimited(head)
  if ($conn.kind === 'mesh') workloadHeaders(head)
  var plugins = state.runtime.plugins['inbound-http']
  if (plugins.length > 0) showPlugins(plugins, $port.id, head)
  noteAnswer(head, false)
  return start
}

function endOfAnswer(end) {
  $isWhole = !($isDelimited && isBrokenOff(end))
  if ($isWhole) return $isDelimited ? withTrailers($local.link.reader, end) : end
  $entry.flag = 'UC'
  $conn.isCutOff = true
  return end
}

function noteAnswer(head, isLocal) {
  $entry.head = head
  $entry.isLocal = isLocal
  $entry.answered = Date.now()
}

function watchTunnel() {
  var conn = $conn
  var local = $local
  var request = $request
  conn.tunnel = {
    isAllowed: () => {
      $conn = conn
      $request = request
      return isAllowed(portOf(conn))
    },
    close: () => local.outbound && local.outbound.close(),
  }
  // Until the workload's side is closed, which follows the other. This pipeline itself is not told of its end: it is in TLS.
  var entry = $entry
  var untrack = track(conn.tunnel)
  local.forget = () => {
    untrack()
    writeEntry(entry)
  }
}
