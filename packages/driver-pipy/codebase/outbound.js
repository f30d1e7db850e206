// Connections of the workload: which destination they are for.

import { beginEntry, writeEntry } from './access-log.js'
import { takeTurn } from './balance.js'
import { callHTTP } from './called-http.js'
import { closed } from './closed.js'
import { openLink } from './connections.js'
import { closest } from './hosts.js'
import { letIn } from './plugins.js'
import { pickGateway } from './gateways.js'
import { state } from './state.js'
import { connectUpstream, pickEndpoint } from './upstream.js'

// `{ isForward }`, `{ id }` of a port of explicit mode, or `{ dialled: { address, port } }`; `source` is the caller's address.
var $conn
var $call
var $entry

// The connection to what `$call` names, and its line in the access log.
var logged = pipeline(($) =>
  $.onStart(() => {
    $entry = beginEntry('outbound', $conn, undefined)
    $entry.id = $call.upstream.id
    $entry.cluster = $call.upstream.id
    $entry.address = $call.address
    $entry.gateway = $call.gateway
  })
    .handleData((data) => void ($entry.received = $entry.received + data.size))
    .pipe(connectUpstream, () => $call)
    .handleData((data) => void ($entry.sent = $entry.sent + data.size))
    .onEnd(() => writeEntry($entry)),
)

/** Takes connections of the workload. */
export var outboundConnection = pipeline(($) =>
  $.onStart((conn) => void ($conn = conn)).pipe(choose, {
    http: ($) => $.pipe(callHTTP, () => $conn),
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
  var world = state.world
  if (!world) return 'close'
  if ($conn.isForward) return 'http'
  var service = $conn.id
    ? world.calledById[$conn.id]
    : world.calledByAddress[$conn.dialled.address + ':' + $conn.dialled.port]
  if (service) {
    $conn.isMesh = true
    if (service.routes) return 'http'
    var isLetIn = letIn(world.plugins['outbound-tcp'], service.id, { source: $conn.source })
    return isLetIn ? toShares(world, service) : 'close'
  }
  return $conn.dialled ? chooseOutside(world, event) : 'close'
}

function chooseOutside(world, event) {
  var rules = world.config.outside.filter((rule) => rule.port === $conn.dialled.port)
  var tcp = closestRange(rules.filter((rule) => rule.protocol === 'tcp' && rule.ranges.length > 0))
  if (tcp) return toShares(world, tcp)
  if (rules.some((rule) => rule.protocol === 'https')) {
    // The server name tells destinations apart, so that the client has to speak first.
    if (event instanceof StreamEnd) return 'close'
    if (!(event instanceof Data) || event.size === 0) return undefined
    if (new Data(event).shift(1).toString('hex') === '16') return 'named'
  }
  if (rules.some((rule) => rule.protocol === 'http')) return 'http'
  var any = rules.find((rule) => rule.protocol === 'tcp' && rule.ranges.length === 0)
  if (any) return toShares(world, any)
  return toPassthrough(world)
}

function chooseByName() {
  var world = state.world
  var name = ('' + (($conn.hello.serverNames || [])[0] || '')).toLowerCase()
  var rules = world.config.outside.filter((rule) => rule.protocol === 'https' && rule.port === $conn.dialled.port)
  var rule = closest(rules, (each) => each.hosts, name)
  if (!rule) return toPassthrough(world)
  return toShares(world, rule, name === '' ? undefined : name + ':' + rule.port)
}

function closestRange(rules) {
  var best = undefined
  var most = -1
  rules.forEach((rule) => {
    rule.ranges.forEach((range) => {
      if (range.contains($conn.dialled.address) && range.bitmask > most) {
        most = range.bitmask
        best = rule
      }
    })
  })
  return best
}

function toPassthrough(world) {
  if (!world.config.egress) return 'close'
  return open(world.passthrough.dialled, undefined, world.othersWay)
}

function toShares(world, part, named) {
  var share = takeTurn(part.turns)
  var upstream = share ? world.upstreams[share.upstream] : undefined
  return upstream ? open(upstream, named, part.wayOut) : 'close'
}

function open(upstream, named, way) {
  $call = { upstream, way, source: $conn.source, dialled: $conn.dialled, named }
  if (!pickEndpoint($call) || !pickGateway($call)) return 'close'
  $call.link = openLink(upstream.pool, upstream.settings, $call.address, $call.gateway)
  return $call.link ? 'tcp' : 'close'
}
