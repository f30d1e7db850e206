// Requests to the workload: the path rule, who may ask, how often, and then the workload itself.

import { hasName, mayCall } from './callers.js'
import { PLAIN_IDLE_SECONDS } from './idle.js'
import { firstMatch, matchesRequest } from './match.js'
import { acceptedPath } from './path-rule.js'
import { beginCall, closeAll, connectionsFor, endCall, noteLink } from './shared-connections.js'
import { askPlugins, showPlugins } from './plugins.js'
import { aboutRequest, answerParts, describeRequest, settleUpgrade } from './request.js'
import { beginEntry, noteData, writeEntry } from './access-log.js'
import { state, track } from './state.js'
import { takeToken } from './bucket.js'
import { countLimitedRequest, workloadHeaders } from './metrics.js'
import { isBrokenOff, isDelimited } from './whole.js'

// Headers that applications have been known to take for a caller's identity. No header is proof of one.
var identityHeaders = ['x-forwarded-client-cert', 'serviceidentity']

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

/** Serves HTTP on a connection whose caller is known. */
export var serveHTTP = pipeline(($) =>
  $.onStart((conn) => void ($conn = conn))
    // Pipy waits for the answers to callers that went away.
    .handleStreamEnd(() => {
      if ($conn.shared) closeAll($conn.shared)
      if ($conn.tunnel) $conn.tunnel.close()
    })
    .demuxHTTP()
    .to(($) =>
      $.handleMessageStart((start) => {
        settleUpgrade(start.head.headers)
        $request = describeRequest(start.head)
        $entry = beginEntry('inbound', $conn, $request)
        $port = portOf($conn)
        $entry.id = $conn.id
        $answer = decide(start.head)
      })
        .handleData((data) => noteData($entry, 'received', data))
        .handleMessageEnd(() => void ($entry.read = Date.now()))
        .pipe(() => ($answer ? 'answer' : 'forward'), {
          answer: ($) =>
            $.replaceData().replaceMessage(() => {
              var parts = answerParts($answer, $request.isGrpc)
              if ($conn.kind === 'mesh') workloadHeaders(parts.head)
              noteAnswer(parts.head, true)
              if (!$port) $conn.isOver = true
              return new Message(parts.head, parts.body)
            }),
          forward: ($) =>
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
                  maxIdle: PLAIN_IDLE_SECONDS,
                }),
              )
              .to(($) => $.connect(() => $local.address, { onState: (outbound) => noteLocal($local, outbound) }))
              .handleMessageEnd(endOfAnswer)
              .onEnd(() => void ($local.shared && endCall($local.shared, $isWhole)))
              .replaceMessageStart(finish)
              .replaceStreamEnd((end) => ($answer ? end : [unavailable(), end])),
        })
        .handleData((data) => noteData($entry, 'sent', data))
        .onEnd(() => $entry && writeEntry($entry)),
    )
    // A port that is not served any more takes no new connections either: callers that keep one open are to notice. The end of an answer that was
    // broken off stays away, so that its caller sees that something is missing.
    .replaceData((data) => ($conn.isCutOff ? new StreamEnd() : $conn.isOver ? [data, new StreamEnd()] : data)),
)

// The port as the configuration of now has it; undefined if it is not served any more.
function portOf(conn) {
  var world = state.world
  if (conn.kind === 'mesh') return world.servedById[conn.id]
  return world.config.ingress.find((port) => port.id === conn.id)
}

// What the sidecar answers itself; undefined if the request goes to the workload.
function decide(head) {
  if (!$port) return { status: 403 }
  if (isHealthCheck(head)) return state.isDraining ? { status: 503, body: 'draining' } : { status: 200 }
  var path = acceptedPath($request.fullPath)
  if (!path) return { status: 400, body: 'path not allowed' }
  $request.path = path.path
  $request.fullPath = path.path + path.query
  head.path = $request.fullPath
  if (!isAllowed($port)) return { status: 403, body: 'access denied' }
  var rules = $conn.kind === 'mesh' ? $port.rules.limits : $port.limits
  var own = firstMatch(rules, $request)
  var limit = own ? own.limit : $port.requestLimit
  var bucket = own ? own.bucket : $port.requestBucket
  if (limit) {
    var isTaken = takeToken(bucket, Date.now())
    countLimitedRequest(isTaken)
    if (!isTaken) return { status: limit.status, headers: limit.headers }
  }
  identityHeaders.forEach((name) => delete head.headers[name])
  var answer = askPlugins(state.world.plugins['inbound-http'], $port.id, aboutRequest($request, $conn.principal))
  if (answer) return answer
  $local = { key: $port.local + ' ' + $port.protocol, address: $port.local }
  $entry.cluster = $port.id
  $entry.address = $port.local
  // An upgraded connection has nobody else on it, so that it can be ended when access is withdrawn.
  if ($request.headers.upgrade) $local.key = $local
  else if ($port.protocol === 'http2') $local.shared = connectionsFor($conn)
  return undefined
}

// Other sidecars ask whether this one is there, whatever they may ask of the workload.
function isHealthCheck(head) {
  var check = state.world.config.healthCheck
  return Boolean(check && $conn.kind === 'mesh' && head.path === check.path && head.headers[check.header] === '1')
}

function isAllowed(port) {
  if (!port) return false
  if ($conn.kind === 'ingress') return isCaller(port) && port.matches.some((match) => matchesRequest(match, $request))
  if (port.rules.kind !== 'http') return false
  var callers = state.world.config.callers
  return port.rules.allow.some(
    (rule) => matchesRequest(rule.match, $request) && mayCall(callers[rule.callers], $conn.principal),
  )
}

// Whether a caller from outside is one of those that the port takes now, which may not be what it took when the connection came.
function isCaller(port) {
  if (!port.ranges.some((range) => range.contains($conn.source))) return false
  if (port.tls === 'none') return !$conn.session
  if (!$conn.session) return false
  return port.tls === 'tls' || hasName($conn.session.peer, port.names || [])
}

function noteLocal(local, outbound) {
  local.outbound = outbound
  if (outbound.state === 'closed' && local.forget) local.forget()
  if (local.shared) noteLink(local.shared, outbound)
}

function unavailable() {
  $answer = { status: 503, body: 'workload unavailable' }
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
  if (head.status === 502 && Object.keys(head.headers || {}).length === 0) return unavailable()
  $answer = head
  if (head.status === 101) {
    settleUpgrade(head.headers)
    watchTunnel()
  }
  $isDelimited = $port.protocol !== 'http2' && head.status !== 101 && isDelimited(head)
  if ($conn.kind === 'mesh') workloadHeaders(head)
  showPlugins(state.world.plugins['inbound-http'], $port.id, head)
  noteAnswer(head, false)
  return start
}

function endOfAnswer(end) {
  $isWhole = !($isDelimited && isBrokenOff(end))
  if ($isWhole) return
  $entry.flag = 'UC'
  $conn.isCutOff = true
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
