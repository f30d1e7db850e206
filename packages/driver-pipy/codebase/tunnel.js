// Tunnels: connections to destinations outside the mesh that gateways make, each on its own connection to its gateway, by mutual TLS.
//
// Pipy tells no server of a stream of HTTP/2 that was given up. On its own connection, the end of one end is the end of the other.

import { closed } from './closed.js'
import { connectRequest, makeConnectRequest } from './connect-request.js'
import { countTunnel } from './tunnel-counts.js'
import { linkClosed, linkOpened, openLink } from './connections.js'
import { makeSocksAnswer, readSocksAnswer } from './gateway-words.js'
import { silenceSeconds } from './idle.js'
import { meshClient } from './mesh-client.js'
import { state } from './state.js'

// `{ gateway, timeoutMs, vacate, endIfIdle, note(state, close) }`, see gateways.js. Anyone who opens it is told `connecting`, `connected` and `closed`.
var $tunnel

/** A tunnel through a gateway. */
export var openTunnel = pipeline(($) =>
  $.onStart((tunnel) => {
    $tunnel = tunnel
    begin(tunnel)
  })
    .pipe(() => ($tunnel.own ? $tunnel.gateway.mode : 'none'), {
      http2tunnel: ($) =>
        $.connectHTTPTunnel(
          () => new Message({ method: 'CONNECT', scheme: 'http', path: '/', authority: $tunnel.gateway.destination }),
        ).to(($) =>
          $.muxHTTP(() => $tunnel.own, { version: 2, maxIdle: 1 })
            .to(($) =>
              $.replaceData(writeRequest)
                .pipe(() => state.runtime.gatewayClient)
                .handleData(() => void ($tunnel.hasSpoken = true)),
            )
            .handleMessageStart((start) => hear($tunnel, readAnswer(start.head))),
        ),
      socks5: ($) =>
        $.connectSOCKS(() => $tunnel.gateway.destination).to(($) =>
          $.pipe(() => state.runtime.gatewayClient).handleData((data) => {
            $tunnel.hasSpoken = true
            if (!$tunnel.isHeard) hear($tunnel, readSocksAnswer($tunnel.socks, data.toArray()))
          }),
        ),
      none: ($) => $.pipe(closed),
    })
    .onEnd(() => end($tunnel)),
)

/** The template that speaks TLS with gateways. */
export function gatewayTemplate(runtime) {
  return meshClient(runtime, () => $tunnel.gateway.upstream.settings.tls, dial)
}

var dial = pipeline(($) =>
  $.connect(
    () => $tunnel.gateway.address,
    () => {
      var tunnel = $tunnel
      return {
        connectTimeout: tunnel.gateway.upstream.settings.connectTimeoutMs / 1000,
        idleTimeout: silenceSeconds(state.runtime.config),
        onState: (outbound) => noteState(tunnel, outbound),
      }
    },
  ),
)

function begin(tunnel) {
  var upstream = tunnel.gateway.upstream
  tunnel.request = makeConnectRequest()
  tunnel.socks = makeSocksAnswer()
  var open = () => openLink(upstream.pool, upstream.settings, tunnel.gateway.address)
  tunnel.own = open() || (endOneIdle(upstream) ? open() : undefined)
  if (!tunnel.own) {
    tunnel.gateway.fault = 'none'
    return
  }
  tunnelsOf(upstream).push(tunnel)
  // The gateway has as long to connect as the sidecar would have, after the sidecar's connection to it.
  var clock = new Timeout((upstream.settings.connectTimeoutMs + tunnel.timeoutMs) / 1000)
  tunnel.clock = clock
  clock.wait().then(
    () => {
      // Who has said something waits for the destination itself.
      if (tunnel.hasSpoken) tunnel.gateway.fault = 'destination'
      end(tunnel)
    },
    () => {},
  )
}

// Of tunnels that nothing is under way in, one makes room for another.
function endOneIdle(upstream) {
  var idle = tunnelsOf(upstream).find((each) => each.endIfIdle())
  if (idle) end(idle)
  return Boolean(idle)
}

function tunnelsOf(upstream) {
  if (!upstream.pool.tunnels) upstream.pool.tunnels = []
  return upstream.pool.tunnels
}

// What Pipy writes; see connect-request.js.
function writeRequest(data) {
  var request = $tunnel.request
  if (request.isSent) return data
  var bytes = connectRequest(request, data.toArray())
  return bytes ? new Data(bytes) : new StreamEnd()
}

// Pipy answers in place of who does not, with the text of a status, which HTTP/2 has not.
function readAnswer(head) {
  if (head.statusText) return 'failed'
  return head.status >= 200 && head.status < 300 ? 'opened' : 'refused'
}

// What the gateway has answered.
function hear(tunnel, answer) {
  if (answer === undefined || tunnel.isHeard || tunnel.isOver) return
  tunnel.isHeard = true
  if (answer === 'refused') tunnel.gateway.fault = 'destination'
  if (answer !== 'opened') return end(tunnel)
  tunnel.isOpen = true
  tunnel.clock.cancel()
  countTunnel(tunnel.gateway, 'opened')
  tunnel.note('connected', tunnel.close)
}

function noteState(tunnel, outbound) {
  if (outbound.state === 'closed') return end(tunnel)
  tunnel.close = () => outbound.close()
  // It was given up while it was being made.
  if (tunnel.isOver) return outbound.close()
  if (outbound.state === 'connected') linkOpened(tunnel.gateway.upstream.pool, tunnel.own)
  else tunnel.note('connecting', tunnel.close)
}

function end(tunnel) {
  if (tunnel.isOver) return
  tunnel.isOver = true
  tunnel.vacate()
  if (tunnel.clock) tunnel.clock.cancel()
  if (!tunnel.isOpen) countTunnel(tunnel.gateway, tunnel.gateway.fault === 'destination' ? 'refused' : 'failed')
  var pool = tunnel.gateway.upstream.pool
  if (tunnel.own) {
    pool.tunnels = pool.tunnels.filter((each) => each !== tunnel)
    linkClosed(pool, tunnel.own)
  }
  tunnel.note('closed', undefined)
  // Not at once: what requests it may stand on events of that very connection.
  if (tunnel.close) new Timeout(0).wait().then(tunnel.close)
}
