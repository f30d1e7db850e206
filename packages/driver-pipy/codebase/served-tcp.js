// Connections to a port of the workload that speaks no HTTP.

import { beginEntry, writeEntry } from './access-log.js'
import { mayCall } from './callers.js'
import { closed } from './closed.js'
import { countArrival } from './tunnel-counts.js'
import { letIn } from './plugins.js'
import { silenceSeconds } from './idle.js'
import { noteReset, passReset } from './reset.js'
import { state, track } from './state.js'

var $conn
var $forget
// Its line in the access log.
var $entry

/** Lets a connection through if its caller may. Who is refused is cut off after the handshake. */
export var serveTCP = pipeline(($) =>
  $.onStart((conn) => void ($conn = conn)).pipe(() => (isAllowed($conn) && isLetIn($conn) ? 'open' : 'close'), {
    open: ($) =>
      $.onStart(() => begin($conn))
        .handleStreamEnd((end) => noteReset($conn, end))
        .handleData((data) => void ($entry.received = $entry.received + data.size))
        .connect(
          () => $entry.address,
          () => ({
            idleTimeout: silenceSeconds(state.runtime.config),
            onState: (outbound) => void ($conn.outbound = outbound),
          }),
        )
        .handleData((data) => void ($entry.sent = $entry.sent + data.size))
        // Within TLS a pipeline is not told of its own end. The workload's side ends last: it is told when the caller has ended.
        .handleStreamEnd((end) => {
          passReset($conn, end)
          finish()
        }),
    close: ($) => $.pipe(closed),
  }),
)

function isAllowed(conn) {
  var port = state.runtime.servedById[conn.id]
  return Boolean(
    port && port.rules.kind === 'tcp' && mayCall(state.runtime.config.callers[port.rules.callers], conn.principal),
  )
}

function isLetIn(conn) {
  return letIn(state.runtime.plugins['inbound-tcp'], conn.id, { source: conn.source, caller: conn.principal })
}

function begin(conn) {
  countArrival(conn.id)
  $forget = track({ isAllowed: () => isAllowed(conn), close: () => conn.outbound && conn.outbound.close() })
  $entry = beginEntry('inbound', conn, undefined)
  $entry.id = conn.id
  $entry.cluster = conn.id
  $entry.address = state.runtime.servedById[conn.id].local
}

function finish() {
  $forget()
  writeEntry($entry)
}
