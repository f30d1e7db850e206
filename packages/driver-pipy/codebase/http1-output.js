// Answers over HTTP/1.1, as Pipy has written them for a caller. It writes what it does not keep until its end in chunks; a caller is told the length where it is known.

import { lastChunk } from './http1-body.js'
import { isContinueHead } from './http1-head.js'

var CHUNKED = '\r\ntransfer-encoding: chunked\r\n'
var KEPT = 'connection: keep-alive\r\n'
var CLOSED = 'connection: close\r\n'
var NO_LENGTH = '\r\ncontent-length: 0\r\n'

/** A connection that nothing was answered over. */
export function makeAnswerWriter() {
  return { at: 'passing', head: undefined, length: undefined, isOld: false }
}

/** An answer begins; `isOld` if its caller speaks HTTP/1.0, which has no chunks. Its trailers, if it has any, are in `head.trailers` by the time of its end. */
export function beginAnswer(writer, head, isOld) {
  var length = head.headers ? head.headers['content-length'] : undefined
  writer.at = isContinueHead(head) ? 'continue' : 'head'
  writer.head = head
  writer.length = length
  writer.isOld = isOld
  writer.isLast = false
}

/** What the caller gets of what Pipy has written: undefined for nothing. */
export function writeAnswer(writer, data) {
  if (writer.at === 'passing')
    return data.size === 5 && hasTrailers(writer) ? new Data(lastChunk(writer.head.trailers)) : data
  if (writer.at === 'continue') {
    writer.at = 'passing'
    return new Data('HTTP/1.1 100 Continue\r\n\r\n')
  }
  if (writer.at === 'head') {
    writer.at = 'passing'
    // Pipy says that there is no body, not the length that it would have.
    if (writer.head.status === 304) return withLength(data, writer.length)
    if (writer.length === undefined && !writer.isOld) return data
    var text = data.toString() || ''
    var at = text.indexOf(CHUNKED)
    if (at < 0) return data
    writer.at = 'body'
    if (writer.length !== undefined) {
      return new Data(
        text.substring(0, at) + '\r\ncontent-length: ' + writer.length + '\r\n' + text.substring(at + CHUNKED.length),
      )
    }
    // HTTP/1.0 knows no other end of an answer whose length is not known.
    writer.isLast = true
    return new Data(
      text.substring(0, at) +
        '\r\n' +
        text
          .substring(at + CHUNKED.length)
          .split(KEPT)
          .join(CLOSED),
    )
  }
  // One chunk: its size, the bytes, and a line end on either side of them.
  var digits = sizeDigits(data.size)
  if (data.size <= digits + 4) {
    writer.at = 'passing'
    return undefined
  }
  data.shift(digits + 2)
  data.pop(2)
  return data
}

function withLength(data, length) {
  var parts = (data.toString() || '').split(NO_LENGTH)
  return parts.length === 2
    ? new Data(parts.join(length === undefined ? '\r\n' : '\r\ncontent-length: ' + length + '\r\n'))
    : data
}

// No other chunk is as short as the last one.
function hasTrailers(writer) {
  return writer.head && writer.head.trailers && writer.head.status !== 101
}

// How many digits the size of a chunk has that is so long as a whole.
function sizeDigits(whole) {
  var digits = 1
  for (var most = 15; whole - 4 - digits > most; most = most * 16 + 15) digits = digits + 1
  return digits
}
