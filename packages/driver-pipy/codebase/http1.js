// The filters around Pipy's own reader and writer of HTTP/1.1.

import { endAnswers, makeAnswerReader, readAnswers, requestSent, writeRequest } from './http1-answers.js'
import { makeFrameReader, makeFrameWriter, passFrames } from './http2-frames.js'
import { beginAnswer, makeAnswerWriter, writeAnswer } from './http1-output.js'
import { makeRequestReader, requestAnswered } from './http1-requests.js'
import { makeExchange } from './one-end.js'

/** Readies a connection for requestsOf (http1-intake.js) and {@link answersFor}; `canContinue` if it answers requests for `100 Continue`. */
export function beginHTTP(conn, canContinue) {
  conn.requests = makeRequestReader(canContinue)
  conn.writer = makeAnswerWriter()
  conn.framesIn = makeFrameReader('request', canContinue ? Math.random() : undefined)
  conn.framesOut = makeFrameWriter(false, conn.framesIn)
}

/** The exchange of a request whose head Pipy has read; see one-end.js. Requests continue as HTTP/1.1, whatever the caller speaks. */
export function beginExchange(conn, head) {
  conn.isOld = head.protocol === 'HTTP/1.0'
  if (conn.isOld) head.protocol = 'HTTP/1.1'
  return makeExchange(head.protocol === 'HTTP/1.1')
}

/** The head of an answer that Pipy is about to write. */
export function answerBegins(conn, head) {
  conn.status = head.status
  beginAnswer(conn.writer, head, conn.isOld)
}

/** What the caller gets of what Pipy has written; nothing where the answer was cut off, so that the caller sees that something is missing. */
export function answersFor(conn, data) {
  if (conn.isCutOff) return cut(conn)
  if (!conn.requests.isHttp2) return writeAnswer(conn.writer, data)
  var out = passFrames(conn.framesOut, data)
  return conn.isOver ? [out, new StreamEnd()] : out
}

/** The end of an answer over HTTP/1.1, and of its connection where that has to end. */
export function answerEnds(conn, end) {
  requestAnswered(conn.requests, conn.status)
  return conn.isOver || conn.isCutOff || conn.writer.isLast ? cut(conn) : end
}

function cut(conn) {
  if (conn.isCut) return undefined
  conn.isCut = true
  return new StreamEnd()
}

// What is known of the connections that a request has opened, by the number of its try.
var $readers
var $nexts

/**
 * Templates of connections that HTTP/1.1 is asked over; each is started with the template that connects, and with what is to hold the `reader` of its answers. Tries of one request share their variables, and the connection of
 * one outlives it: so each try has its own template. They are made once, because Pipy crashes when it frees a template with its last pipeline.
 */
var askers = [0, 1, 2, 3, 4, 5, 6, 7].map((number) =>
  pipeline(($) =>
    $.onStart((next, link) => {
      if (!$readers) {
        $readers = []
        $nexts = []
      }
      $readers[number] = makeAnswerReader()
      $nexts[number] = next
      if (link) link.reader = $readers[number]
    })
      .handleMessageStart((start) => requestSent($readers[number], start.head))
      .replaceData((data) => writeRequest($readers[number], data))
      .pipe(() => $nexts[number])
      .replaceData((data) => readAnswers($readers[number], data))
      .replaceStreamEnd((end) => endAnswers($readers[number], end)),
  ),
)

// Longer requests are not kept in memory, in bytes.
var LONGEST_KEPT = 65536
var withBody = ['POST', 'PUT', 'PATCH']

/** True for a request to a server of HTTP/1.1 that is to continue as it comes, by {@link streamRequest}: `muxHTTP` keeps others until their end. */
export function isStreamed(conn, request) {
  var headers = request.headers
  if (headers.upgrade || request.method === 'HEAD') return false
  if (headers['transfer-encoding'] !== undefined) return true
  var length = headers['content-length']
  if (length !== undefined) return +length > LONGEST_KEPT
  return conn.requests.isHttp2 === true && withBody.includes(request.method)
}

// One request over one connection.
var $next
var $reader
var $writer
var $isKeepingLength
var $isAnswering

/**
 * Asks over HTTP/1.1 while the request still comes, over a connection to itself. It is started with the template that connects, what is to hold the `reader` of its
 * answer, and the caller's connection.
 */
export var streamRequest = pipeline(($) =>
  $.onStart((next, link, conn) => {
    $next = next
    $reader = makeAnswerReader()
    $writer = makeAnswerWriter()
    link.reader = $reader
    // The length that a caller of HTTP/2 announces has not been compared with what it sends.
    $isKeepingLength = !conn.requests.isHttp2
    $isAnswering = false
  })
    // The end of what a caller sends is not that of the connection to the server.
    .replaceStreamEnd()
    .encodeHTTPRequest({ bufferSize: 1 })
    .handleMessageStart((start) => {
      requestSent($reader, start.head)
      beginAnswer($writer, $isKeepingLength ? start.head : {}, false)
    })
    .replaceData((data) => writeAnswer($writer, data))
    .pipe(() => $next)
    .replaceData((data) => readAnswers($reader, data))
    .replaceStreamEnd((end) => endAnswers($reader, end))
    .decodeHTTPResponse()
    .handleMessageStart(() => void ($isAnswering = true))
    .handleMessageEnd(() => void ($isAnswering = false))
    // As `muxHTTP` does.
    .replaceStreamEnd((end) => ($isAnswering ? [new MessageEnd(), end] : end)),
)

// The same of connections that HTTP/2 is asked over.
var $framesIn
var $framesOut
var http2Askers = [0, 1, 2, 3, 4, 5, 6, 7].map((number) =>
  pipeline(($) =>
    $.onStart((next) => {
      if (!$framesIn) {
        $framesIn = []
        $framesOut = []
        $nexts = []
      }
      $framesIn[number] = makeFrameReader('answer', undefined)
      $framesOut[number] = makeFrameWriter(true, undefined)
      $nexts[number] = next
    })
      .replaceData((data) => passFrames($framesOut[number], data))
      .pipe(() => $nexts[number])
      .replaceData((data) => passFrames($framesIn[number], data)),
  ),
)

/** The template for a try of a request: 0 for the first. */
export function askerOf(attempt, isHttp2) {
  var all = isHttp2 ? http2Askers : askers
  return all[attempt % all.length]
}
