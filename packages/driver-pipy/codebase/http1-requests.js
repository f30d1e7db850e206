// Requests over HTTP/1.1, as they continue to Pipy: checked and rewritten, one by one. HTTP/2 passes as it is.

import { bodyInChunks, bodyOfLength, passesWhole, readBody } from './http1-body.js'
import { MAX_BODY_BYTES, readRequestHead, writeRequestHead } from './http1-head.js'
import { writeContinueRequest, writeRefusedRequest } from './http1-head.js'
import { makeHeadBuffer, takeHead, textOfHead } from './http1-input.js'
import { countRefusedMessage } from './framing-counts.js'

var PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
// Requests that a caller may send ahead of their answers.
var MAX_AHEAD = 100

var TOO_LARGE = { status: 431, reason: 'size' }
var INVALID = { status: 400, reason: 'line end' }

/** A connection that nothing has come over; `canContinue` if requests of writeContinueRequest (http1-head.js) are answered. */
export function makeRequestReader(canContinue) {
  return {
    at: 'first',
    head: makeHeadBuffer(),
    body: undefined,
    ahead: 0,
    canContinue: Boolean(canContinue),
    long: {},
    longs: 0,
  }
}

/**
 * What continues to Pipy of what has come.
 *
 * @returns {unknown} data, or a StreamEnd where the connection has to end at once
 */
export function readRequests(reader, data) {
  if (reader.at === 'passing') return data
  if (reader.at === 'body' && passesWhole(reader.body, data)) return data
  var out = new Data()
  for (var left = data.size; left > 0; left = data.size) {
    if (reader.at === 'over') {
      data.shift(data.size)
    } else if (reader.at === 'first') {
      var isHttp2 = beginsHttp2(reader, data)
      if (isHttp2 === undefined) return out
      reader.at = isHttp2 ? 'passing' : 'head'
      reader.isHttp2 = isHttp2
      if (isHttp2) return reader.opening
      data = reader.opening
    } else if (reader.at === 'head') {
      readHead(reader, data, out)
    } else if (reader.at === 'upgrading') {
      // No one knows yet what these bytes are.
      return cut(reader, 'upgrade')
    } else {
      out.push(readBody(reader.body, data))
      if (reader.body.fault) return cut(reader, reader.body.fault)
      if (reader.body.isDone) reader.at = reader.next
    }
  }
  return out
}

/** A request has its answer; `status` is that of the answer. */
export function requestAnswered(reader, status) {
  reader.ahead = reader.ahead - 1
  if (reader.at === 'upgrading') reader.at = status === 101 ? 'passing' : 'head'
}

// Undefined while it may be either.
function beginsHttp2(reader, data) {
  var opening = reader.opening || new Data()
  opening.push(data.shift(data.size))
  reader.opening = opening
  var text = new Data(opening).shift(PREFACE.length).toString()
  if (text === PREFACE) return true
  return text !== undefined && PREFACE.startsWith(text) ? undefined : false
}

function readHead(reader, data, out) {
  var bytes = takeHead(reader.head, data)
  if (bytes === 'more') return
  // An empty line before a request (RFC 9112, section 2.2).
  if (bytes.size === 4) return
  var head =
    bytes === 'large' ? TOO_LARGE : bytes === 'invalid' ? INVALID : readRequestHead(headText(reader.head, bytes))
  reader.ahead = reader.ahead + 1
  if (reader.ahead > MAX_AHEAD) head = { status: 429, reason: 'pipelined' }
  if (head.status !== undefined) {
    countRefusedMessage('request', head.reason)
    reader.at = 'over'
    out.push(writeRefusedRequest(head))
    return
  }
  if (head.expectsContinue && reader.canContinue) {
    reader.ahead = reader.ahead + 1
    out.push(writeContinueRequest())
  }
  if (head.long) {
    reader.longs = reader.longs + 1
    reader.long['' + reader.longs] = head.long
  }
  out.push(writeRequestHead(head, head.long ? reader.longs : undefined))
  reader.next = head.isLast ? 'over' : 'head'
  if (head.isUpgrade) reader.at = 'upgrading'
  else if (head.isChunked) begin(reader, bodyInChunks(MAX_BODY_BYTES))
  else if (head.length > 0) begin(reader, bodyOfLength(head.length))
  else reader.at = reader.next
}

function begin(reader, body) {
  reader.body = body
  reader.at = 'body'
}

// One empty line may stand before a request (RFC 9112, section 2.2).
function headText(buffer, bytes) {
  var text = textOfHead(buffer, bytes)
  return text !== undefined && text.startsWith('\r\n') ? text.substring(2) : text
}

function cut(reader, reason) {
  countRefusedMessage('request', reason)
  reader.at = 'over'
  return new StreamEnd()
}
