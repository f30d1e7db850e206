// Answers over HTTP/1.1, as Pipy has written them for a caller. It writes what it does not keep until its end in chunks; a caller is told the length where it is known.

var CHUNKED = '\r\ntransfer-encoding: chunked\r\n'

/** A connection that nothing was answered over. */
export function makeAnswerWriter() {
  return { at: 'passing', length: undefined, isOld: false }
}

/** An answer begins; `isOld` if its caller speaks HTTP/1.0, which has no chunks. */
export function beginAnswer(writer, head, isOld) {
  var length = head.headers ? head.headers['content-length'] : undefined
  writer.at = 'head'
  writer.length = length
  writer.isOld = isOld
}

/** What the caller gets of what Pipy has written: undefined for nothing. */
export function writeAnswer(writer, data) {
  if (writer.at === 'passing') return data
  if (writer.at === 'head') {
    writer.at = 'passing'
    if (writer.length === undefined && !writer.isOld) return data
    var parts = (data.toString() || '').split(CHUNKED)
    if (parts.length !== 2) return data
    writer.at = 'body'
    return new Data(
      parts[0] + '\r\n' + (writer.length === undefined ? '' : 'content-length: ' + writer.length + '\r\n') + parts[1],
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

// How many digits the size of a chunk has that is so long as a whole.
function sizeDigits(whole) {
  var digits = 1
  for (var most = 15; whole - 4 - digits > most; most = most * 16 + 15) digits = digits + 1
  return digits
}
