// What gateways are told, and what they answer.

var lettersOfHosts = 'abcdefghijklmnopqrstuvwxyz0123456789-_.:[]'

/**
 * True for `host:port` that a gateway reads as it is read here. Names come from requests and TLS handshakes; with other characters in them, a name that a rule
 * lets out may be another one to a gateway.
 */
export function isDestination(text) {
  if (text === '' || text.startsWith(':')) return false
  for (var i = 0; i < text.length; i = i + 1) if (!lettersOfHosts.includes(text.charAt(i))) return false
  return true
}

var VERSION = 5
var NO_AUTHENTICATION = 0
var SUCCEEDED = 0

/** A gateway that speaks SOCKS 5 (RFC 1928) and has said nothing. */
export function makeSocksAnswer() {
  return []
}

/**
 * Takes the next bytes of such a gateway.
 *
 * @param answer - see makeSocksAnswer
 * @returns {unknown} `opened`; `refused`, if it does not connect to where it was told; `failed`, if it cannot be spoken with; undefined if it is not known yet
 */
export function readSocksAnswer(answer, bytes) {
  // The choice of a method, and the beginning of the reply: version, method, version, code.
  for (var i = 0; i < bytes.length && answer.length < 4; i = i + 1) answer.push(bytes[i])
  var isOther = (at, byte) => answer.length > at && answer[at] !== byte
  if (isOther(0, VERSION) || isOther(1, NO_AUTHENTICATION) || isOther(2, VERSION)) return 'failed'
  if (answer.length < 4) return undefined
  return answer[3] === SUCCEEDED ? 'opened' : 'refused'
}
