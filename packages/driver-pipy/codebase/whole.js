// Whether answers over HTTP/1.1 are whole.

/** True if the head of an answer says where it ends: by a length or by chunks. Others end with their connection. */
export function isDelimited(head) {
  var headers = head.headers || {}
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

/**
 * True if a delimited answer has ended too early. Pipy makes its own end where a connection breaks off, as if all had come; only ends that it has read
 * say how long the head was.
 */
export function isBrokenOff(end) {
  return !(end.tail && end.tail.headSize > 0)
}
