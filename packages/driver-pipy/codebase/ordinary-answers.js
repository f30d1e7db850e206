// Answers to ordinary requests, as bytes; see ordinary-requests.js. They are read as strictly as all others, and written for a caller of HTTP/1.1.

import { bodyInChunks, bodyOfLength, bodyUntilEnd, passesWhole, readBody } from './http1-body.js'
import { readAnswerHead } from './http1-head.js'
import { makeHeadBuffer, takeHead, textOfHead } from './http1-input.js'
import { countRefusedMessage } from './framing-counts.js'

var MOST_HEADS = 200
var LONGEST_HEAD = 2048

/** No heads of answers have been read; `write` gives what continues of one, `{ written, … }`. */
export function makeAnswerHeads(write) {
  return { count: 0, known: {}, write, context: undefined }
}

/** A connection that nothing was asked over. */
export function makeOrdinaryAnswers(heads) {
  return {
    heads,
    at: 'idle',
    head: makeHeadBuffer(),
    body: undefined,
    method: '',
    // The head of the answer, when it came, and whether it has come as a whole.
    record: undefined,
    answered: 0,
    sent: 0,
    isWhole: false,
    isRefused: false,
    // The beginning of an answer, until more than a byte of its body has come: a sidecar answers 503 in place of one that breaks off before that.
    held: undefined,
    start: new MessageStart(),
    end: new MessageEnd(),
  }
}

/** A request goes out. */
export function expectAnswer(reader, method) {
  reader.at = reader.at === 'over' ? 'over' : 'head'
  reader.method = method
  reader.record = undefined
  reader.sent = 0
  reader.isWhole = false
  reader.held = undefined
}

/**
 * The answer in what has come, as a message that is written for the caller. What is not the answer ends the connection.
 *
 * @param context - whatever a head is written by: heads that were written by another are forgotten
 */
export function readOrdinaryAnswer(reader, data, context) {
  var heads = reader.heads
  if (heads.context !== context) {
    heads.context = context
    heads.known = {}
    heads.count = 0
  }
  if (reader.at === 'head' && reader.head.bytes.size === 0 && reader.method !== 'HEAD') {
    // Most answers come in one piece.
    var text = data.toString()
    var size = text === undefined ? 3 : text.indexOf('\r\n\r\n') + 4
    if (size > 3 && text.length === data.size) {
      var record = heads.known[size === text.length ? text : text.substring(0, size)]
      if (record && record.size === text.length) {
        reader.record = record
        reader.answered = Date.now()
        reader.sent = record.length
        reader.isWhole = true
        reader.at = record.isLast ? 'over' : 'idle'
        var out = new Data(record.written)
        if (record.length > 0) {
          data.shift(size)
          out.push(data)
        }
        return record.isLast ? [reader.start, out, reader.end, new StreamEnd()] : [reader.start, out, reader.end]
      }
    }
  }
  return readParts(reader, data)
}

/** What continues at the end of a connection: the end of an answer that had no other. */
export function endOrdinaryAnswer(reader, end) {
  if (reader.at !== 'body' || reader.body.kind !== 'end' || end.error) return end
  reader.at = 'over'
  reader.isWhole = true
  return (reader.held || []).concat([new Data('0\r\n\r\n'), reader.end, end])
}

function readParts(reader, data) {
  if (reader.at === 'body' && !reader.held && passesWhole(reader.body, data)) {
    reader.sent = reader.sent + data.size
    return data
  }
  var events = reader.held || []
  reader.held = undefined
  for (var left = data.size; left > 0; left = data.size) {
    if (reader.at === 'over') {
      data.shift(data.size)
    } else if (reader.at === 'idle') {
      return refuse(reader, events, 'unasked')
    } else if (reader.at === 'head') {
      var fault = readHead(reader, data, events)
      if (fault) return refuse(reader, events, fault)
    } else {
      var part = readBody(reader.body, data)
      reader.sent = reader.sent + part.size
      events.push(part)
      if (reader.body.fault) return refuse(reader, events, reader.body.fault)
      if (reader.body.isDone) finish(reader, events)
    }
  }
  if (reader.at !== 'body' || reader.sent > 1) return events
  reader.held = events
  return undefined
}

// The reason if the connection has to end.
function readHead(reader, data, events) {
  var bytes = takeHead(reader.head, data)
  if (bytes === 'more') return undefined
  if (bytes === 'large') return 'size'
  if (bytes === 'invalid') return 'line end'
  var record = recordOf(reader, textOfHead(reader.head, bytes))
  if (record.status !== undefined) return record.reason
  // No one who asks through a sidecar waits for these: the answer follows.
  if (record.code < 200) return undefined
  reader.record = record
  reader.answered = Date.now()
  events.push(reader.start)
  events.push(new Data(record.written))
  if (!record.hasBody || record.bodyLength === 0) finish(reader, events)
  else {
    reader.at = 'body'
    if (record.isChunked) reader.body = bodyInChunks(Infinity, true)
    else if (record.bodyLength === undefined) reader.body = bodyUntilEnd()
    else reader.body = bodyOfLength(record.bodyLength)
  }
  return undefined
}

function finish(reader, events) {
  reader.isWhole = true
  reader.at = reader.record.isLast ? 'over' : 'idle'
  events.push(reader.end)
  // Nothing else may be asked over a connection that the other side is about to close.
  if (reader.record.isLast) events.push(new StreamEnd())
}

function refuse(reader, events, reason) {
  countRefusedMessage('answer', reason)
  reader.isRefused = !reader.isWhole
  reader.at = 'over'
  return reader.sent > 1 || reader.isWhole
    ? events.concat([new StreamEnd('ConnectionReset')])
    : new StreamEnd('ConnectionReset')
}

function recordOf(reader, text) {
  var heads = reader.heads
  var isHead = reader.method === 'HEAD'
  if (!isHead && text !== undefined && heads.known[text]) return heads.known[text]
  var head = readAnswerHead(text, { method: reader.method, isUpgrade: false })
  if (head.status !== undefined || head.code < 200) return head
  var record = heads.write(head)
  record.isLast = head.isLast
  record.hasBody = head.hasBody
  record.isChunked = head.isChunked
  record.bodyLength = head.length
  // Bytes that follow the head, and of both; NaN where they are not known yet.
  record.length = head.hasBody ? (head.isChunked || head.length === undefined ? NaN : head.length) : 0
  record.size = text.length + record.length
  if (isHead || text.length > LONGEST_HEAD) return record
  if (heads.count >= MOST_HEADS) {
    heads.count = 0
    heads.known = {}
  }
  heads.count = heads.count + 1
  heads.known[text] = record
  return record
}

/** The fields of an answer that continue, by name. */
export function fieldsOf(head) {
  var headers = {}
  var lines = head.fields.split('\r\n')
  lines.pop()
  lines.forEach((line) => {
    var colon = line.indexOf(': ')
    var name = line.substring(0, colon)
    var value = line.substring(colon + 2)
    // No other field is on more than one line.
    if (headers[name] === undefined) headers[name] = value
    else headers[name] = typeof headers[name] === 'string' ? [headers[name], value] : headers[name].concat([value])
  })
  if (head.length !== undefined) headers['content-length'] = '' + head.length
  return headers
}

/** Text of a head that continues to a caller, which keeps its connection. */
export function textOfAnswer(head, headers) {
  var text = 'HTTP/1.1 ' + head.code + ' ' + head.text + '\r\n'
  Object.keys(headers).forEach((name) => {
    var value = headers[name]
    if (name === 'content-length') return
    if (typeof value === 'string') text = text + name + ': ' + value + '\r\n'
    else value.forEach((each) => void (text = text + name + ': ' + each + '\r\n'))
  })
  if (head.length !== undefined && head.code !== 204) text = text + 'content-length: ' + head.length + '\r\n'
  else if (head.hasBody) text = text + 'transfer-encoding: chunked\r\n'
  return text + 'connection: keep-alive\r\n\r\n'
}

// What a sidecar answers itself for one that it has asked.
var reasons = { 499: 'Client Closed Request', 502: 'Bad Gateway', 503: 'Service Unavailable', 504: 'Gateway Timeout' }

/** An answer of the sidecar itself, as events; `headers` by name. */
export function ownAnswer(method, answer, headers) {
  var text = 'HTTP/1.1 ' + answer.status + ' ' + reasons['' + answer.status] + '\r\n'
  if (answer.body !== '') text = text + 'content-type: text/plain\r\n'
  Object.keys(headers).forEach((name) => void (text = text + name + ': ' + headers[name] + '\r\n'))
  text = text + 'content-length: ' + answer.body.length + '\r\nconnection: keep-alive\r\n\r\n'
  return [new MessageStart(), new Data(method === 'HEAD' ? text : text + answer.body), new MessageEnd()]
}
