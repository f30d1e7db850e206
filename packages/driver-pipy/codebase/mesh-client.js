// Mutual TLS towards services of the mesh, from the side of the caller.

import { keepTemplate } from './kept-templates.js'
import { principalOf } from './callers.js'

/**
 * A template that speaks TLS with the trust and the certificate of a runtime over what `transport` connects to. Both are fixed when a filter is made, so that
 * runtimes that differ in them have their own.
 *
 * @param tlsOf - gives `{ serverName, principals }` of the connection that asks
 * @param onState - called with the session whenever its state changes; may be left out
 */
export function meshClient(runtime, tlsOf, transport, onState) {
  var versions = runtime.config.trust.versions
  if (!runtime.certificate || !versions) return refuse
  var options = {
    // Not requested again: Pipy asks twice in one handshake, and has none at all if the second one is another.
    certificate: runtime.certificate,
    trusted: runtime.trusted,
    sni: () => tlsOf().serverName,
    alpn: runtime.config.trust.alpn,
    minVersion: versions.min,
    maxVersion: versions.max,
    // Pipy checks no names itself. It asks once for each certificate of the chain, always with that of the server.
    verify: (ok, certificate) => ok && tlsOf().principals.includes(principalOf(certificate)),
  }
  if (onState) options.onState = onState
  if (runtime.config.trust.ciphers) options.ciphers = runtime.config.trust.ciphers
  return keepTemplate(pipeline(($) => $.connectTLS(options).to(transport)))
}

/** Ends connections before a byte of them has gone anywhere. */
export var refuse = pipeline(($) => $.replaceStreamStart(() => new StreamEnd('Unauthorized')).replaceData())
