// Heads in a stream of bytes.

import { MAX_HEAD_BYTES } from './http1-head.js'
import { isUtf8 } from './utf8.js'

/** The text of a head that {@link takeHead} has taken: undefined for what is not UTF-8. */
export function textOfHead(buffer, bytes) {
  var whole = buffer.whole
  buffer.whole = undefined
  if (whole !== undefined) return whole
  var text = bytes.toString()
  return isUtf8(bytes, text) ? text : undefined
}

/** No bytes of a head yet. */
export function makeHeadBuffer() {
  return { bytes: new Data(), last: new Data(), whole: undefined }
}

/**
 * Takes a head out of `data`, up to and including its empty line.
 *
 * @returns {unknown} the head as Data, `more` if its end has not come, `large`, or `invalid` where a line ends without CR: its end would be waited for in vain
 */
export function takeHead(buffer, data) {
  // Most heads come in one piece, alone or before a short body. Each byte is a character then.
  if (buffer.bytes.size === 0) {
    var text = data.toString()
    if (text !== undefined && text.length === data.size) {
      var size = text.indexOf('\r\n\r\n') + 4
      if (size > 3 && size <= MAX_HEAD_BYTES) {
        buffer.whole = size === text.length ? text : text.substring(0, size)
        return data.shift(size)
      }
    }
  }
  var recent = new Data(buffer.last)
  recent.push(new Data(data))
  var end = endOfHead(recent)
  if (end < 0) {
    if (buffer.bytes.size + data.size > MAX_HEAD_BYTES) return 'large'
    if (hasBareLF(buffer.last, data)) return 'invalid'
    buffer.bytes.push(data.shift(data.size))
    buffer.last = recent.size > 3 ? recent.pop(3) : recent
    return 'more'
  }
  buffer.bytes.push(data.shift(end - buffer.last.size))
  var head = buffer.bytes
  buffer.bytes = new Data()
  buffer.last = new Data()
  return head.size > MAX_HEAD_BYTES ? 'large' : head
}

// True if a LF in `data` does not follow a CR, which may be the last byte of what came before.
function hasBareLF(last, data) {
  var before = last.size > 0 ? new Data(last).pop(1).toString('hex') : ''
  var hex = before + data.toString('hex')
  for (var found = hex.indexOf('0a', before.length); found >= 0; found = hex.indexOf('0a', found + 1)) {
    if (found % 2 === 0 && hex.substring(found - 2, found) !== '0d') return true
  }
  return false
}

// How many bytes there are up to the end of an empty line; -1 if there is none.
function endOfHead(data) {
  var text = data.toString()
  if (text !== undefined) {
    var at = text.indexOf('\r\n\r\n')
    if (at < 0) return -1
    return text.length === data.size ? at + 4 : new Data(text.substring(0, at)).size + 4
  }
  // Not UTF-8: a body follows, or a head that is refused.
  var hex = data.toString('hex')
  for (var found = hex.indexOf('0d0a0d0a'); found >= 0; found = hex.indexOf('0d0a0d0a', found + 1)) {
    if (found % 2 === 0) return found / 2 + 4
  }
  return -1
}
