// Connections of HTTP/2 to the workload. Pipy tells no server that a call was given up: it would go on there for as long as its connection is open. So what such
// a call was on gets no new calls, and is closed when those that are on it have ended.

/** The connections for calls of one caller. Others have their own, so that all that a caller requested ends with its connection. */
export function connectionsFor(conn) {
  if (!conn.shared || conn.shared.isRetired) conn.shared = { calls: 0, isRetired: false, links: [] }
  return conn.shared
}

/** Notes what becomes of one of them. */
export function noteLink(shared, outbound) {
  if (outbound.state === 'connected') shared.links.push(outbound)
  else if (outbound.state === 'closed') shared.links = shared.links.filter((link) => link !== outbound)
}

/** Counts a call that begins. */
export function beginCall(shared) {
  shared.calls = shared.calls + 1
}

/** Counts a call that has ended; whole, if its answer came to its end. */
export function endCall(shared, isWhole) {
  shared.calls = shared.calls - 1
  if (!isWhole) shared.isRetired = true
  if (shared.isRetired && shared.calls === 0) closeAll(shared)
}

/** Ends all that is under way. */
export function closeAll(shared) {
  shared.isRetired = true
  shared.links.forEach((link) => link.close())
}
