// TLS towards servers outside the mesh. Whatever of it is not there, there is no connection: never one in plaintext, or to a server that no one has verified.

import { certificatesOf } from './certificates.js'
import { holdsName } from './server-names.js'

// Where the systems that Pipy is run on keep the roots that they trust.
var systemFiles = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem']

/**
 * How an upstream is spoken to.
 *
 * @returns {unknown} `options` of connectTLS; `key`, equal for options that do the same; `identity`, another one where connections must not be shared. Undefined
 *   if something is missing
 */
export function outsideTLS(runtime, tls) {
  var versions = runtime.config.trust.versions
  var trusted = rootsOf(runtime, tls.roots)
  var shown = shownBy(runtime, tls.shows)
  // Without roots Pipy verifies nothing.
  if (!versions || !trusted || trusted.list.length === 0 || !shown) return undefined
  var options = {
    trusted: trusted.list,
    minVersion: versions.min,
    maxVersion: versions.max,
    // Pipy checks no names itself. It asks once for each certificate of the chain, always with that of the server.
    verify: (ok, certificate) => ok && holdsName(namesIn(certificate), tls),
  }
  // Not requested again: Pipy asks twice in one handshake, and has none at all if the second one is another.
  if (tls.shows) options.certificate = shown.certificate
  if (tls.serverName) options.sni = tls.serverName
  if (runtime.config.trust.ciphers) options.ciphers = runtime.config.trust.ciphers
  return {
    options,
    key: digest([JSON.stringify(tls), runtime.trustKey, trusted.text, shown.text]),
    identity: digest([runtime.trustKey, trusted.text, shown.text]),
  }
}

function digest(texts) {
  var hash = new crypto.Hash('sha256')
  hash.update(JSON.stringify(texts))
  return hash.digest('base64')
}

function rootsOf(runtime, roots) {
  if (roots === 'mesh') return { list: runtime.trusted, text: '' }
  if (roots === 'system') return systemRoots()
  var material = runtime.further.byKey[roots.credential]
  return material ? { list: material.trusted, text: material.text } : undefined
}

function shownBy(runtime, shows) {
  if (!shows) return { text: '' }
  if (shows === 'own') {
    return runtime.certificate ? { certificate: runtime.certificate, text: runtime.identityKey } : undefined
  }
  return runtime.further.byKey[shows.credential]
}

function systemRoots() {
  var text = undefined
  systemFiles.forEach((name) => {
    if (text !== undefined) return
    try {
      text = os.read(name).toString()
    } catch (_) {
      text = undefined
    }
  })
  return text === undefined ? undefined : { list: certificatesOf(text), text }
}

// Names as Pipy shows them; addresses are in the bytes alone.
function namesIn(certificate) {
  return {
    names: certificate.subjectAltNames || [],
    bytes: () => new Data(base64Of(certificate.toPEM().toString()), 'base64').toArray(),
  }
}

function base64Of(pem) {
  return pem
    .split('\n')
    .filter((line) => !line.startsWith('-----'))
    .join('')
}
