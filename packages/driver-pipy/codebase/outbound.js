// Connections of the workload: which destination they are for.

import { beginEntry, writeEntry } from './access-log.js'
import { takeTurn } from './balance.js'
import { callRequests } from './called-ordinary.js'
import { closed } from './closed.js'
import { openLink } from './connections.js'
import { letIn } from './plugins.js'
import { noteReset, passReset } from './reset.js'
import { destinationOf, isStillOpen } from './outside.js'
import { pickGateway } from './gateways.js'
import { state, track } from './state.js'
import { connectUpstream, endOnceReady, pickEndpoint } from './upstream.js'

// `{ isForward }`, `{ id }` of a port of explicit mode, or `{ dialled: { address, port } }`; `source` is the caller's address.
var $conn
var $call
var $entry
var $forget

// The connection to what `$call` names, and its line in the access log.
var logged = pipeline(($) =>
  $.onStart(() => {
    $entry = beginEntry('outbound', $conn, undefined)
    $entry.id = $call.upstream.id
    $entry.cluster = $call.upstream.id
    $entry.address = $call.address
    $entry.gateway = $call.gateway
    $forget = $conn.isMesh ? undefined : watch($conn, $call)
  })
    .handleStreamEnd((end) => noteReset($conn, end))
    .handleData((data) => void ($entry.received = $entry.received + data.size))
    .replaceStreamEnd((end) => endOnceReady($call, end))
    .pipe(connectUpstream, () => $call)
    .handleStreamEnd((end) => passReset($conn, end))
    .handleData((data) => void ($entry.sent = $entry.sent + data.size))
    .onEnd(() => {
      if ($forget) $forget()
      writeEntry($entry)
    }),
)

// Ends when nothing lets it out any more, or lets it out by that way.
function watch(conn, call) {
  return track({
    isAllowed: () => isStillOpen(state.runtime, conn, call),
    close: () => call.link.cut && call.link.cut(),
  })
}

/** Takes connections of the workload. */
export var outboundConnection = pipeline(($) =>
  $.onStart((conn) => void ($conn = conn)).pipe(choose, {
    http: ($) => $.pipe(callRequests, () => $conn),
    tcp: ($) => $.pipe(logged),
    named: ($) =>
      $.handleTLSClientHello((hello) => void ($conn.hello = hello)).pipe(
        () => ($conn.hello ? chooseByName() : undefined),
        { tcp: ($) => $.pipe(logged), close: ($) => $.pipe(closed) },
      ),
    close: ($) => $.pipe(closed),
  }),
)

function choose(event) {
  var runtime = state.runtime
  if (!runtime) return 'close'
  if ($conn.isForward) return 'http'
  var service = $conn.id
    ? runtime.calledById[$conn.id]
    : runtime.calledByAddress[$conn.dialled.address + ':' + $conn.dialled.port]
  if (service) {
    $conn.isMesh = true
    if (service.routes) return 'http'
    var isLetIn = letIn(runtime.plugins['outbound-tcp'], service.id, { source: $conn.source })
    return isLetIn ? toShares(runtime, service) : 'close'
  }
  return $conn.dialled ? chooseOutside(runtime, event) : 'close'
}

function chooseOutside(runtime, event) {
  var found = destinationOf(runtime, $conn)
  if (found.kind === 'unknown') {
    if (event instanceof StreamEnd) return 'close'
    if (!(event instanceof Data) || event.size === 0) return undefined
    $conn.isTLS = new Data(event).shift(1).toString('hex') === '16'
    found = destinationOf(runtime, $conn)
  }
  return toDestination(runtime, found)
}

function chooseByName() {
  return toDestination(state.runtime, destinationOf(state.runtime, $conn)) === 'tcp' ? 'tcp' : 'close'
}

function toDestination(runtime, found) {
  if (found.kind === 'rule') return toShares(runtime, found.rule, found.named)
  return found.kind === 'others' ? open(runtime.passthrough.dialled, undefined, runtime.othersWay) : found.kind
}

function toShares(runtime, part, named) {
  var share = takeTurn(part.turns)
  var upstream = share ? runtime.upstreams[share.upstream] : undefined
  return upstream ? open(upstream, named, part.wayOut) : 'close'
}

function open(upstream, named, way) {
  $call = { upstream, way, source: $conn.source, dialled: $conn.dialled, named }
  if (!pickEndpoint($call) || !pickGateway($call)) return 'close'
  $call.link = openLink(upstream.pool, upstream.settings, $call.address, $call.gateway)
  return $call.link ? 'tcp' : 'close'
}
