// CONNECT requests of HTTP/2, as RFC 9113 has them (8.5): without a scheme and a path. Pipy writes both, and servers refuse such requests. So what it writes to
// a new connection is held until the head of its one request is there, and goes out without them.

var PREFACE_BYTES = 24
var HEADER_BYTES = 9
var HEADERS = 1

// `:method` by its index in the static table, then the text.
var METHOD = [2, 7, 67, 79, 78, 78, 69, 67, 84]
// `:scheme: http` and `:path: /`, by theirs.
var SURPLUS = [134, 132]

/** A connection that nothing has been written to. */
export function makeConnectRequest() {
  return { held: [], isSent: false }
}

/**
 * Takes the next bytes that Pipy writes, and gives those that may go out.
 *
 * @param request - see makeConnectRequest; `isSent` once what follows goes out as it is
 * @returns {unknown} bytes, which may be none; undefined if the request is another one than what is written here
 */
export function connectRequest(request, bytes) {
  var held = request.held.concat(bytes)
  request.held = held
  for (var at = PREFACE_BYTES; at + HEADER_BYTES <= held.length; at = at + HEADER_BYTES + length) {
    var length = held[at] * 65536 + held[at + 1] * 256 + held[at + 2]
    var end = at + HEADER_BYTES + length
    if (held[at + 3] === HEADERS) return held.length < end ? [] : send(request, at, length)
  }
  return []
}

function send(request, at, length) {
  var held = request.held
  var expected = METHOD.concat(SURPLUS)
  var head = at + HEADER_BYTES
  if (expected.some((byte, i) => held[head + i] !== byte)) return undefined
  var left = length - SURPLUS.length
  request.isSent = true
  request.held = []
  return held
    .slice(0, at)
    .concat([left >> 16, (left >> 8) & 255, left & 255])
    .concat(held.slice(at + 3, head))
    .concat(METHOD)
    .concat(held.slice(head + expected.length))
}
