// Connections to a port of the workload that speaks no HTTP.

import { mayCall } from './callers.js'
import { closed } from './closed.js'
import { letIn } from './plugins.js'
import { state, track } from './state.js'

var $conn
var $forget

/** Lets a connection through if its caller may. Who is refused is cut off after the handshake. */
export var serveTCP = pipeline(($) =>
  $.onStart((conn) => void ($conn = conn)).pipe(() => (isAllowed($conn) && isLetIn($conn) ? 'open' : 'close'), {
    open: ($) =>
      $.onStart(() => void watch($conn))
        .connect(() => state.world.servedById[$conn.id].local, {
          onState: (outbound) => void ($conn.outbound = outbound),
        })
        // Within TLS a pipeline is not told of its own end. The workload's side ends last: it is told when the caller has ended.
        .handleStreamEnd(() => $forget()),
    close: ($) => $.pipe(closed),
  }),
)

function isAllowed(conn) {
  var port = state.world.servedById[conn.id]
  return Boolean(
    port && port.rules.kind === 'tcp' && mayCall(state.world.config.callers[port.rules.callers], conn.principal),
  )
}

function isLetIn(conn) {
  return letIn(state.world.plugins['inbound-tcp'], conn.id, { source: conn.source, caller: conn.principal })
}

function watch(conn) {
  $forget = track({ isAllowed: () => isAllowed(conn), close: () => conn.outbound && conn.outbound.close() })
}
