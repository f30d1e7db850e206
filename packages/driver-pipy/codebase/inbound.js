// Connections to the workload: which port they are for, and who is there.

import { takeToken } from './bucket.js'
import { principalOf } from './callers.js'
import { closed } from './closed.js'
import { closest } from './hosts.js'
import { keepTemplate } from './kept-templates.js'
import { countLimitedConnection } from './metrics.js'
import { serveHTTP } from './served-http.js'
import { serveRequests } from './served-ordinary.js'
import { serveTCP } from './served-tcp.js'
import { state } from './state.js'

// `{ port, source, listen, hello, kind, id, session, principal }`
var $conn

/** Takes connections of a listener; `{ listen }` in explicit mode, `{ port }` where they were redirected; `source` is the caller's address. */
export var inboundConnection = pipeline(($) =>
  $.onStart((conn) => void ($conn = conn)).pipe(firstBytes, {
    tls: ($) =>
      $.handleTLSClientHello((hello) => void ($conn.hello = hello)).pipe(
        () => ($conn.hello ? chooseTLS() : undefined),
        {
          close: ($) => $.pipe(closed),
        },
      ),
    plain: ($) => $.pipe(serveHTTP, () => $conn),
    close: ($) => $.pipe(closed),
  }),
)

/** Templates that end TLS with the trust of a runtime. They are created again with it: roots are fixed when a filter is created, and earlier session tickets are void. */
export function serverTemplates(runtime) {
  var versions = runtime.config.trust.versions
  if (!runtime.certificate || !versions) return { mesh: closed, tls: closed, mtls: closed }
  var options = {
    certificate: () => state.runtime.certificate,
    minVersion: versions.min,
    maxVersion: versions.max,
    onState: (session) => void ($conn.session = session),
  }
  if (runtime.config.trust.ciphers) options.ciphers = runtime.config.trust.ciphers
  var accept = (trusted, alpn) => {
    var all = Object.assign({}, options, { trusted })
    if (alpn) all.alpn = alpn
    return keepTemplate(
      pipeline(($) => $.acceptTLS(all).to(($) => $.pipe(serve, { close: ($) => $.pipe(closed) }, () => $conn))),
    )
  }
  return {
    mesh: accept(runtime.trusted, undefined),
    tls: accept([], ['h2', 'http/1.1']),
    mtls: accept(runtime.trusted, ['h2', 'http/1.1']),
  }
}

// TLS, or plain HTTP where a port takes it from the caller's address.
function firstBytes(event) {
  if (event instanceof StreamEnd) return 'close'
  if (!(event instanceof Data) || event.size === 0) return undefined
  if (!state.runtime) return 'close'
  if (new Data(event).shift(1).toString('hex') === '16') return 'tls'
  var port = takers((each) => each.tls === 'none')[0]
  return port && begin('ingress', port) ? 'plain' : 'close'
}

function isHere(port) {
  return $conn.listen ? port.listen === $conn.listen : port.port === $conn.port
}

// Ports that take the caller, the one with the narrowest range first: it says all that callers from there may do.
function takers(fits) {
  return state.runtime.config.ingress
    .filter((port) => fits(port) && isHere(port) && narrowness(port) >= 0)
    .sort((a, b) => narrowness(b) - narrowness(a))
}

// Length of the longest prefix that the caller's address has; -1 for a port that does not take it.
function narrowness(port) {
  var longest = -1
  port.ranges.forEach((range) => {
    if (range.contains($conn.source) && range.bitmask > longest) longest = range.bitmask
  })
  return longest
}

function begin(kind, port) {
  if (port.connectionBucket && !takeToken(port.connectionBucket, Date.now())) {
    countLimitedConnection(port)
    return false
  }
  $conn.kind = kind
  $conn.id = port.id
  return true
}

// The template that continues with the handshake. Callers of the mesh offer the protocol of the mesh, and request a service by its name.
function chooseTLS() {
  var runtime = state.runtime
  var name = ('' + (($conn.hello.serverNames || [])[0] || '')).toLowerCase()
  var protocols = $conn.hello.protocolNames || []
  if (!protocols.includes(runtime.config.trust.alpn)) {
    var outside = takers((port) => port.tls !== 'none')
    var named = closest(outside, (port) => (port.serverNames.length > 0 ? port.serverNames : ['*']), name)
    if (named) return begin('ingress', named) ? runtime.servers[named.tls] : 'close'
  }
  var port = runtime.config.served.find((each) => isHere(each) && each.serverNames.includes(name))
  return port && begin('mesh', port) ? runtime.servers.mesh : 'close'
}

// After the handshake: who is there decides.
function serve() {
  var session = $conn.session
  if (!session || session.state !== 'connected') return 'close'
  // Which callers from outside may ask is checked with each request.
  if ($conn.kind === 'ingress') return serveHTTP
  $conn.principal = principalOf(session.peer)
  var port = state.runtime.servedById[$conn.id]
  if (!port) return 'close'
  return port.protocol === 'tcp' ? serveTCP : serveRequests
}
