// What Pipy's reader of HTTP/1.1 gets to see, and how long it may be.

import { MAX_HEAD_BYTES } from './http1-head.js'
import { passFrames } from './http2-frames.js'
import { readRequests } from './http1-requests.js'

/** What `demuxHTTP` is to do: pass on answers as they come, and heads as long as those that are let in. */
export var serverOptions = { bufferSize: 1, maxHeaderSize: MAX_HEAD_BYTES + 4096 }

/** The longest line of a head that `muxHTTP` reads. */
export var maxHeaderSize = MAX_HEAD_BYTES + 4096

/** What has come over a connection, as Pipy may read it. */
export function requestsOf(conn, data) {
  var out = readRequests(conn.requests, data)
  return conn.requests.isHttp2 && out instanceof Data ? passFrames(conn.framesIn, out) : out
}

/** The end of what comes over a connection, once. */
export function onceEnded(conn, end) {
  if (conn.hasEnded) return undefined
  conn.hasEnded = true
  return end
}
