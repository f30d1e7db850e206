// The filters around Pipy's own reader and writer of HTTP/1.1.

import { endAnswers, makeAnswerReader, readAnswers, requestSent } from './http1-answers.js'
import { beginAnswer, makeAnswerWriter, writeAnswer } from './http1-output.js'
import { makeRequestReader, requestAnswered } from './http1-requests.js'
import { makeExchange } from './one-end.js'

/** Readies a connection for requestsOf (http1-intake.js) and {@link answersFor}. */
export function beginHTTP(conn) {
  conn.requests = makeRequestReader()
  conn.writer = makeAnswerWriter()
}

/** The exchange of a request whose head Pipy has read; see one-end.js. Requests go on as HTTP/1.1, whatever the caller speaks. */
export function beginExchange(conn, head) {
  var isHttp1 = head.protocol === 'HTTP/1.1' || head.protocol === 'HTTP/1.0'
  var exchange = makeExchange(isHttp1)
  conn.isOld = head.protocol === 'HTTP/1.0'
  if (conn.isOld) head.protocol = 'HTTP/1.1'
  return exchange
}

/** The head of an answer that Pipy is about to write. */
export function answerBegins(conn, head) {
  conn.status = head.status
  beginAnswer(conn.writer, head, conn.isOld)
}

/** What the caller gets of what Pipy has written; nothing where the answer was cut off, so that the caller sees that something is missing. */
export function answersFor(conn, data) {
  if (conn.isCutOff) return cut(conn)
  var out = writeAnswer(conn.writer, data)
  return conn.isOver && conn.requests.isHttp2 ? [out, new StreamEnd()] : out
}

/** The end of an answer over HTTP/1.1, and of its connection where that has to end. */
export function answerEnds(conn, end) {
  requestAnswered(conn.requests, conn.status)
  return conn.isOver || conn.isCutOff ? cut(conn) : end
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
 * Templates of connections that HTTP/1.1 is asked over; each is started with the template that connects. Tries of one request share their variables, and the connection of
 * one outlives it: so each try has a template of its own. They are made once, because Pipy crashes when it frees a template with its last pipeline.
 */
var askers = [0, 1, 2, 3, 4, 5, 6, 7].map((number) =>
  pipeline(($) =>
    $.onStart((next) => {
      if (!$readers) {
        $readers = []
        $nexts = []
      }
      $readers[number] = makeAnswerReader()
      $nexts[number] = next
    })
      .handleMessageStart((start) => requestSent($readers[number], start.head))
      .pipe(() => $nexts[number])
      .replaceData((data) => readAnswers($readers[number], data))
      .replaceStreamEnd((end) => endAnswers($readers[number], end)),
  ),
)

/** The template for a try of a request: 0 for the first. */
export function askerOf(attempt) {
  return askers[attempt % askers.length]
}
