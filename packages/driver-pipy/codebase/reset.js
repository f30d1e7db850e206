// Connections that one side has reset. Pipy ends the other side's in order, as if all had been said.

// SOL_SOCKET and SO_LINGER of Linux, and the value that makes a closed connection a reset one: on, for no time.
var SOL_SOCKET = 1
var SO_LINGER = 13
var AT_ONCE = [1, 0, 0, 0, 0, 0, 0, 0]

/** The caller's connection has ended; behind a fault nothing can be done with its socket any more. */
export function noteReset(conn, end) {
  if (end.error) conn.socket = undefined
}

/** What was called has ended its connection: if by a reset, the caller's is reset as well. Pipy closes it for any fault. */
export function passReset(conn, end) {
  if (end.error !== 'ConnectionReset' || !conn.socket) return
  var socket = conn.socket
  conn.socket = undefined
  try {
    socket.setRawOption(SOL_SOCKET, SO_LINGER, new Data(AT_ONCE))
  } catch (_) {
    // It is closed already.
  }
}
