// The end of an answer over HTTP/1.1. Pipy frees what an answer goes through as soon as that has ended, and then crashes if anything else comes: the end of the request, or
// that of a connection. So an answer does not end before its request, and nothing follows its end.

/** A request whose head has come; `isHeld` for HTTP/1.1. Nothing of an answer may go on once it `isEnded`. */
export function makeExchange(isHeld) {
  return { isHeld, isRead: false, isEnded: false, release: undefined }
}

/** The request has ended, or its connection. */
export function requestEnded(exchange) {
  exchange.isRead = true
  var release = exchange.release
  exchange.release = undefined
  if (release) release()
}

/**
 * The end of the answer, or a promise for it; undefined where it has ended already, or has not begun: tries that are given up end as well.
 *
 * @param status - that of the answer; undefined before its head
 */
export function answerEnded(exchange, end, status) {
  if (exchange.isEnded || status === undefined) return undefined
  // What follows an upgrade belongs to it.
  if (!exchange.isHeld || exchange.isRead || status === 101) {
    exchange.isEnded = status !== 101
    return end
  }
  return new Promise((resolve) => {
    exchange.release = () => {
      exchange.isEnded = true
      resolve(end)
    }
  })
}

/** The end of what an answer goes through: undefined where that of the answer itself is still to come, which would be lost behind it. */
export function streamEnded(exchange, end) {
  return exchange && (exchange.isEnded || exchange.release) ? undefined : end
}
