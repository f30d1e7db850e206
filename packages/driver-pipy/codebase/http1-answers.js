// Answers over HTTP/1.1, as they continue to Pipy: one for each request, checked and rewritten. Whatever else comes ends the connection, so that it never
// becomes the answer to somebody else.

import { bodyInChunks, bodyOfLength, bodyUntilEnd, passesWhole, readBody } from './http1-body.js'
import { readAnswerHead, writeAnswerHead, writeRefusedAnswer } from './http1-head.js'
import { makeHeadBuffer, takeHead, textOfHead } from './http1-input.js'
import { countRefusedMessage } from './framing-counts.js'

// Pipy writes a length for these, whatever it is.
var withLength = ['POST', 'PUT', 'PATCH', 'HEAD']

/** A connection that nothing was asked over. */
export function makeAnswerReader() {
  return {
    at: 'idle',
    head: makeHeadBuffer(),
    body: undefined,
    request: undefined,
    trailers: undefined,
  }
}

/** A request goes out. */
export function requestSent(reader, head) {
  var headers = head.headers || {}
  reader.request = { method: head.method, isUpgrade: headers.upgrade !== undefined }
  reader.trailers = undefined
  reader.saysNoLength = headers['content-length'] === '0' && !withLength.includes(head.method)
  if (reader.at === 'idle') reader.at = 'head'
}

/** What goes out of what Pipy has written of a request: the caller's `Content-Length: 0` as well, which Pipy leaves out of some. */
export function writeRequest(reader, data) {
  if (!reader.saysNoLength) return data
  reader.saysNoLength = false
  data.pop(2)
  return data.push('content-length: 0\r\n\r\n')
}

/** The end of an answer, with the trailers that have come with it. */
export function withTrailers(reader, end) {
  var trailers = reader ? reader.trailers : undefined
  return trailers ? new MessageEnd({ headers: trailers }) : end
}

/**
 * What continues to Pipy of what has come.
 *
 * @returns {unknown} data, with a StreamEnd behind it where the connection has to end
 */
export function readAnswers(reader, data) {
  if (reader.at === 'passing') return data
  if (reader.at === 'body' && passesWhole(reader.body, data)) return data
  var out = new Data()
  for (var left = data.size; left > 0; left = data.size) {
    if (reader.at === 'over') {
      data.shift(data.size)
    } else if (reader.at === 'idle') {
      countRefusedMessage('answer', 'unasked')
      reader.at = 'over'
      return [out, new StreamEnd()]
    } else if (reader.at === 'head') {
      if (readHead(reader, data, out)) return [out, new StreamEnd()]
      if (reader.at === 'passing') {
        out.push(data.shift(data.size))
        return out
      }
    } else {
      out.push(readBody(reader.body, data))
      if (reader.body.fault) {
        countRefusedMessage('answer', reader.body.fault)
        reader.at = 'over'
        return [out, new StreamEnd('ConnectionReset')]
      }
      if (reader.body.isDone) {
        reader.at = reader.next
        var trailers = reader.body.trailers
        if (trailers && Object.keys(trailers).length > 0) reader.trailers = trailers
      }
    }
  }
  return out
}

/** What goes on at the end of a connection: the end of an answer that had no other. */
export function endAnswers(reader, end) {
  if (reader.at !== 'body' || reader.body.kind !== 'end' || end.error) return end
  reader.at = 'over'
  return [new Data('0\r\n\r\n'), end]
}

// True if the connection has to end.
function readHead(reader, data, out) {
  var bytes = takeHead(reader.head, data)
  if (bytes === 'more') return false
  var head =
    bytes === 'large' || bytes === 'invalid'
      ? { status: 502, reason: bytes === 'large' ? 'size' : 'line end' }
      : readAnswerHead(textOfHead(reader.head, bytes), reader.request)
  if (head.status !== undefined) {
    countRefusedMessage('answer', head.reason)
    reader.at = 'over'
    out.push(writeRefusedAnswer())
    return true
  }
  // No one who asks through a sidecar waits for these: the answer follows.
  if (head.code < 200 && head.code !== 101) return false
  out.push(writeAnswerHead(head))
  reader.next = head.isLast ? 'over' : 'idle'
  if (head.isUpgrade) reader.at = 'passing'
  else if (!head.hasBody) reader.at = reader.next
  else if (head.isChunked) begin(reader, bodyInChunks(Infinity))
  else if (head.length === undefined) begin(reader, bodyUntilEnd())
  else if (head.length > 0) begin(reader, bodyOfLength(head.length))
  else reader.at = reader.next
  return false
}

function begin(reader, body) {
  reader.body = body
  reader.at = 'body'
}
