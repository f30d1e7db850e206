// Connections to upstreams: mutual TLS with services of the mesh, TLS or plain connections with destinations outside of it.

import { isOut } from './health-checks.js'
import { isOwn, isOwnAddress } from './own-listeners.js'
import { keepTemplate } from './kept-templates.js'
import { OUTSIDE_IDLE_SECONDS, meshIdleSeconds, silenceSeconds } from './idle.js'
import { askerOf, streamRequest } from './http1.js'
import { maxHeaderSize } from './http1-intake.js'
import { outsideTLS } from './outside-tls.js'
import { endIdle, linkClosed, linkOpened } from './connections.js'
import { meshClient, refuse } from './mesh-client.js'
import { countUpstream, numbersOf, seriesOfAnswer, withoutWorkload } from './metrics.js'
import { expectAnswer, fieldsOf, makeAnswerHeads, makeOrdinaryAnswers } from './ordinary-answers.js'
import { endOrdinaryAnswer, readOrdinaryAnswer, textOfAnswer } from './ordinary-answers.js'
import { takeByHash, takeLeast, takeTurn } from './balance.js'
import { state } from './state.js'
import { addTo } from './upstream-metrics.js'
import { openTunnel } from './tunnel.js'

// How long an endpoint that could not be reached is left out, while others are there.
var AVOID_MS = 5000

// Addresses of an upstream whose keys are remembered.
var MOST_KEYS = 1000

// What is called: `{ upstream, address, source, named, dialled, key, link, slot }`, see pickEndpoint and connections.js.
var $call
// The connection that is made.
var $link
var $numbers
// The caller's connection.
var $conn

var direct = pipeline(($) =>
  $.connect(
    () => $link.address,
    () => {
      // A call that is tried again has another connection by the time that its first one says how it has ended.
      var link = $link
      var upstream = $call.upstream
      return {
        connectTimeout: upstream.settings.connectTimeoutMs / 1000,
        idleTimeout: silenceSeconds(state.runtime.config),
        onState: (outbound) => noteState(upstream, link, outbound),
      }
    },
  ),
)

var plain = pipeline(($) =>
  $.onStart(() => void ($numbers = numbersOf($call.upstream)))
    .handleData(
      (data) => void ($numbers.upstream_cx_tx_bytes_total = ($numbers.upstream_cx_tx_bytes_total || 0) + data.size),
    )
    .pipe(() => ($link.gateway ? 'tunnel' : 'direct'), {
      direct: ($) => $.pipe(direct),
      tunnel: ($) => $.pipe(openTunnel, () => [tunnelOf($call.upstream, $link)]),
    })
    .handleData(
      (data) => void ($numbers.upstream_cx_rx_bytes_total = ($numbers.upstream_cx_rx_bytes_total || 0) + data.size),
    )
    .handleStreamEnd((end) => {
      if (end.error === 'ConnectionTimeout') addTo($numbers, 'upstream_cx_connect_timeout', 1)
    }),
)

/** The template that speaks TLS with the trust of a runtime. */
export function clientTemplate(runtime) {
  return meshClient(
    runtime,
    () => $call.upstream.settings.tls,
    plain,
    (session) => {
      if (session.state === 'connected') whenReady($link)
    },
  )
}

/**
 * The end of what the caller says over a connection that no one shares, once it can follow: Pipy passes an end on before a handshake or a tunnel is complete, and what
 * was said before it is lost then.
 */
export function endOnceReady(call, end) {
  var link = call.link
  if (end.error || link.isReady || !(call.upstream.settings.tls || link.gateway)) return end
  return new Promise((resolve) => void (link.release = () => resolve(end)))
}

function whenReady(link) {
  link.isReady = true
  var release = link.release
  link.release = undefined
  if (release) release()
}

/** Makes what speaks TLS to the servers outside the mesh of a runtime; what was made for the same servers and roots continues. */
export function outsideTemplates(runtime, before) {
  runtime.outside = {}
  Object.values(runtime.upstreams).forEach((upstream) => {
    upstream.outside = undefined
    var tls = upstream.settings.outsideTls
    var outside = tls ? outsideTLS(runtime, tls) : undefined
    if (!outside) return
    var old = before ? before.outside[outside.key] : undefined
    var options = outside.options
    var template = runtime.outside[outside.key] || old || keepTemplate(pipeline(($) => $.connectTLS(options).to(plain)))
    runtime.outside[outside.key] = template
    upstream.outside = { template, identity: outside.identity }
  })
}

// What speaks to what is called: in plaintext only where nothing else was requested.
function transport() {
  var settings = $call.upstream.settings
  if (settings.tls) return state.runtime.client
  if (settings.outsideTls) return $call.outside ? $call.outside.template : refuse
  return plain
}

/** A connection to what `call` names, over its link. */
export var connectUpstream = pipeline(($) =>
  $.onStart((call) => {
    $call = call
    $link = call.link
    call.vacate = occupy(call)
  })
    .pipe(transport)
    .onEnd(() => {
      $call.vacate()
      linkClosed($call.upstream.pool, $call.link)
    }),
)

/** HTTP to what `call` names, over the connection of its slot. */
export var requestUpstream = pipeline(($) =>
  $.onStart((call) => void ($call = call))
    .muxHTTP(
      () => $call.slot,
      () => ({
        version: $call.upstream.settings.http2 ? 2 : 1,
        maxQueue: $call.capacity,
        maxIdle: $call.upstream.settings.tls ? meshIdleSeconds(state.runtime.config) : OUTSIDE_IDLE_SECONDS,
        maxHeaderSize,
      }),
    )
    .to(($) =>
      $.onStart((slot) => void ($link = slot.link)).pipe(
        () => askerOf($call.attempts, $call.upstream.settings.http2),
        () => [transport(), $link],
      ),
    ),
)

/** HTTP/1.1 to what `call` names, as the request comes; `conn` is the caller's connection. */
export var streamUpstream = pipeline(($) =>
  $.onStart((call, conn) => {
    $call = call
    $conn = conn
    $link = call.slot.link
  }).pipe(streamRequest, () => [transport(), $link, $conn]),
)

// Heads of answers of other sidecars, without what they say of themselves.
var answerHeads = makeAnswerHeads((head) => {
  var headers = fieldsOf(head)
  var series = seriesOfAnswer(headers)
  withoutWorkload(headers)
  return { head: { status: head.code, headers }, series, written: textOfAnswer(head, headers) }
})

/** An ordinary request to what `call` names, over the connection of its slot. What is known of the answer is in `call.link.answers`. */
export var ordinaryUpstream = pipeline(($) =>
  $.onStart((call) => void ($call = call))
    .mux(
      () => {
        var answers = $call.link.answers
        if (answers) expectAnswer(answers, $call.method)
        return $call.slot
      },
      () => ({ maxQueue: 1, maxIdle: meshIdleSeconds(state.runtime.config) }),
    )
    .to(($) =>
      $.onStart((slot) => {
        $link = slot.link
        $link.answers = makeOrdinaryAnswers(answerHeads)
        expectAnswer($link.answers, $call.method)
      })
        .pipe(() => transport())
        .replaceData((data) => readOrdinaryAnswer($link.answers, data, state.runtime.config))
        .replaceStreamEnd((end) => endOrdinaryAnswer($link.answers, end)),
    ),
)

/**
 * Chooses the address of a call, and which connections will do for it. False if the upstream has none, or if that is this sidecar.
 *
 * @param call - `{ upstream, source, dialled, named }`: the caller's address for hashing; what was dialled; what the request names
 */
export function pickEndpoint(call) {
  var addresses = call.upstream.settings.addresses
  call.outside = call.upstream.outside
  if (call.upstream.settings.outsideTls && !call.outside) return false
  if (addresses.kind === 'dialled') {
    var dialled = call.dialled
    if (!dialled) return false
    call.address = addresses.port ? dialled.address + ':' + addresses.port : dialled.address + ':' + dialled.port
  } else if (addresses.kind === 'named') {
    if (!call.named) return false
    call.address = call.named
  } else {
    var endpoint = pickAmong(call, true) || pickAmong(call, false)
    if (!endpoint) return false
    call.address = endpoint.address
  }
  if (isOwnAddress(call.address)) return false
  var identity = state.runtime.identityKey
  var upstream = call.upstream
  if (upstream.keysIdentity !== identity) {
    upstream.keysIdentity = identity
    upstream.keys = new Map()
    upstream.keyCount = 0
  }
  // Each way has its own connections.
  var name = call.isOrdinary ? 'ordinary ' + call.address : call.address
  call.key = upstream.keys.get(name) || connectionKey(upstream, name, identity)
  if (call.outside) call.key = call.key + call.outside.identity
  return true
}

// What tells connections apart that are made otherwise: a text of several kilobytes, which is put together once for each address and certificate.
function connectionKey(upstream, name, identity) {
  if (upstream.keyCount >= MOST_KEYS) {
    upstream.keys = new Map()
    upstream.keyCount = 0
  }
  var tls = upstream.settings.tls
  var key = upstream.id + ' ' + name + ' ' + JSON.stringify(tls || null) + (tls ? identity : '')
  upstream.keys.set(name, key)
  upstream.keyCount = upstream.keyCount + 1
  return key
}

/** The endpoint of a call's upstream, if it has any; none that could not be reached lately, if that is to be careful. */
export function pickAmong(call, isCareful) {
  var upstream = call.upstream
  var lists = upstream.settings.addresses.priorities
  // There is nothing to choose.
  if (lists.length === 1 && lists[0].length === 1) {
    var only = lists[0][0]
    if (!upstream.checks && upstream.health[only.address] === undefined) return only
  }
  var fits = fitness(upstream, isCareful)
  var balancing = upstream.settings.balancing
  var found = undefined
  for (var level = 0; level < lists.length && !found; level = level + 1) {
    if (balancing === 'hash') found = takeByHash(lists[level], call.source, fits)
    else if (balancing === 'least-request')
      found = takeLeast(upstream.turns[level], loadsOf(upstream.load.byAddress), fits)
    else found = takeTurn(upstream.turns[level], fits)
  }
  return found
}

/** True if an upstream has an endpoint that {@link pickAmong} would give. */
export function hasEndpoint(upstream, isCareful) {
  var fits = fitness(upstream, isCareful)
  return (upstream.settings.addresses.priorities || []).some((list) => list.some(fits))
}

function fitness(upstream, isCareful) {
  var now = Date.now()
  return (endpoint) => !isCareful || isGood(upstream, endpoint.address, now)
}

function isGood(upstream, address, now) {
  return !(upstream.health[address] > now) && !isOut(upstream.checks, address)
}

// Its own function: Pipy frees no closure that is in a variable of the scope that it closes over, if other closures use that variable.
function loadsOf(byAddress) {
  return (endpoint) => byAddress[endpoint.address] || 0
}

/** Counts what is under way at the endpoint of a call from now on; gives what ends that. */
export function occupy(call) {
  return occupation(call.upstream.load.byAddress, call.address)
}

// Apart from the call, which keeps what is given: Pipy frees no cycles.
function occupation(counts, address) {
  counts[address] = (counts[address] || 0) + 1
  var isLeft = false
  return () => {
    if (isLeft) return
    isLeft = true
    counts[address] = counts[address] - 1
    if (counts[address] === 0) delete counts[address]
  }
}

/**
 * Notes that a try came to nothing. True if that is because its connection was never there; its endpoint is then left out for a while. Pipy passes the end
 * of a connection on before it says how it ended, and what is tried again looks for an endpoint in between.
 */
export function failedToConnect(call) {
  var link = call.link
  if (!link || link.isConnected) return false
  avoid(call.upstream, link)
  return true
}

// A gateway that refuses a destination is none that can't be reached.
function avoid(upstream, link) {
  var gateway = link.gateway
  var until = Date.now() + AVOID_MS
  if (!gateway || gateway.fault === 'destination') upstream.health[link.address] = until
  else if (gateway.fault === 'gateway') gateway.upstream.health[gateway.address] = until
}

// What opens the tunnel of a link, and hears what becomes of it.
function tunnelOf(upstream, link) {
  var gateway = link.gateway
  return {
    gateway,
    timeoutMs: upstream.settings.connectTimeoutMs,
    vacate: occupy(gateway),
    endIfIdle: () => endIdle(upstream.pool, link),
    note: (state, close) => noteState(upstream, link, { state, close }),
  }
}

// What becomes of a connection.
function noteState(upstream, link, outbound) {
  if (outbound.state === 'closed') {
    if (!link.isConnected) avoid(upstream, link)
    link.cut = undefined
    link.release = undefined
    linkClosed(upstream.pool, link)
    return
  }
  link.cut = () => {
    if (link.isConnected && link.wishes.length > 0) countUpstream(upstream, 'upstream_cx_destroy_local_with_active_rq')
    outbound.close()
  }
  if (outbound.state === 'connected') {
    // What a name leads to is known now. Nothing is said for addresses, which have been looked at before.
    if (isOwn(outbound.remoteAddress, outbound.remotePort)) return outbound.close()
    delete upstream.health[link.address]
    if (link.gateway) delete link.gateway.upstream.health[link.gateway.address]
    linkOpened(upstream.pool, link)
    if (!upstream.settings.tls) whenReady(link)
  }
}
