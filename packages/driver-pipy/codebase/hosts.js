// Names of hosts: what requests and TLS handshakes say, and the tables that it is looked up in.

import { makeMemo, recall } from './memo.js'

var known = makeMemo(500, 256)

/** Splits `host`, `host:port` and `[v6]:port`; `host.` is the same host as `host`. The port is undefined if none is named, and NaN if it is not a port. The result must not be changed. */
export function splitAuthority(text) {
  return recall(known, text, split)
}

function split(text) {
  var low = text.toLowerCase()
  var bracket = low.indexOf(']')
  if (low.startsWith('[') && bracket > 0) {
    if (bracket === low.length - 1) return { host: low, port: undefined }
    return { host: low.substring(0, bracket + 1), port: portOf(low.substring(bracket + 1)) }
  }
  var colon = low.indexOf(':')
  if (colon < 0) return { host: withoutDot(low), port: undefined }
  return { host: withoutDot(low.substring(0, colon)), port: portOf(low.substring(colon)) }
}

function withoutDot(host) {
  return host.endsWith('.') ? host.substring(0, host.length - 1) : host
}

function portOf(text) {
  if (text.length < 2 || text.length > 6 || text.charAt(0) !== ':') return NaN
  var port = 0
  for (var i = 1; i < text.length; i = i + 1) {
    var digit = text.charCodeAt(i) - 48
    if (digit < 0 || digit > 9) return NaN
    port = port * 10 + digit
  }
  return port > 0 && port < 65536 ? port : NaN
}

/** How closely a pattern (`host`, `*.domain`, `*`) names a host: 0 if not at all, more for closer. */
export function closeness(pattern, host) {
  if (pattern === host) return 100000
  if (pattern === '*') return 1
  if (!pattern.startsWith('*.')) return 0
  var domain = pattern.substring(1)
  return host.length > domain.length && host.endsWith(domain) ? 1 + domain.length : 0
}

/** True if patterns name a host otherwise than by `*`. */
export function isNamedBy(patterns, host) {
  return patterns.some((pattern) => pattern !== '*' && closeness(pattern, host) > 0)
}

/**
 * Finds the element whose patterns name the host most closely; of equally close ones the first.
 *
 * @returns {unknown} the element, or undefined if there is none
 */
export function closest(list, patternsOf, host) {
  var best = undefined
  var most = 0
  list.forEach((element) => {
    patternsOf(element).forEach((pattern) => {
      var near = closeness(pattern, host)
      if (near > most) {
        most = near
        best = element
      }
    })
  })
  return best
}
