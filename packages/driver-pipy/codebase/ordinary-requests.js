// The short way of ordinary requests. Most requests of HTTP/1.1 are: one head that the strict reader accepts, no upgrade, no chunks, and a body of a known, small length or none.
// Such a request is read as a whole, decided on once for each text of its head, and passed on as bytes: Pipy's own reader and writer of HTTP never see it. Each
// call of a function costs as much as everything else in it, because Pipy prepares 100 values for it; so this way has few.
//
// Everything else takes the strict way (called-http.js, served-http.js), and so does all that follows it on its connection. One ordinary request at a
// time is under way on a connection: one that is sent ahead of an answer is not ordinary.

import { readRequestHead } from './http1-head.js'
import { describeRequest } from './request.js'

// Longer requests are not kept in memory, in bytes; see isStreamed in http1.js.
var LONGEST_BODY = 65536
// Heads that are remembered with a configuration, and the length of each.
var MOST_HEADS = 1000
var LONGEST_HEAD = 2048

var methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
// Besides what does not continue, these are rare, and need more than to be passed on.
var unusual = [':upgrade', ':expect', ':set-cookie', ':http2-settings']

/** Readies a connection for {@link readOrdinary}. */
export function beginOrdinary(conn) {
  conn.ordinary = {
    isStrict: false,
    // A request has been passed on whose answer has not ended.
    isBusy: false,
    // The connection that is asked, or what holds it.
    link: undefined,
    call: undefined,
    hasStarted: false,
    hasEnded: false,
    record: undefined,
    pending: undefined,
    decisions: undefined,
    known: undefined,
    start: new MessageStart(),
    end: new MessageEnd(),
  }
}

/** No decisions yet, for the `ordinary` of a configuration. */
export function makeDecisions() {
  return { count: 0, byName: {} }
}

/**
 * What becomes of bytes that have come over a connection: a message for each ordinary request, whose record is `conn.ordinary.record`. All that does not
 * continue that way is one message without an end. Nothing while a body is incomplete.
 *
 * @param runtime - the configuration, see runtime.js
 * @param name - tells apart what decides otherwise on the same head
 * @param recordOf - decides on a head that no one has decided on yet: gives a record, or undefined if it takes the strict way
 */
export function readOrdinary(conn, data, runtime, name, recordOf) {
  var own = conn.ordinary
  if (own.isStrict || data.size === 0) return data
  var bytes = data
  var record = undefined
  if (own.pending) {
    bytes = own.pending
    bytes.push(data)
    own.pending = undefined
    record = own.record
  } else if (!own.isBusy) {
    if (own.decisions !== runtime.ordinary) useDecisions(own, runtime, name)
    var text = bytes.toString()
    // Each byte is a character, and all of it a head: that of most requests.
    if (text !== undefined && text.length === data.size && own.known[text]) record = own.known[text]
    else record = findRecord(conn, bytes, text, runtime, name, recordOf)
    own.record = record
  }
  var missing = record ? record.size - bytes.size : -1
  if (missing > 0) {
    own.pending = bytes === data ? new Data(data) : bytes
    return undefined
  }
  // More has come than this request: it is one that is sent ahead.
  if (missing < 0) {
    own.isStrict = true
    own.decisions = undefined
    own.known = undefined
    return [own.start, bytes]
  }
  own.isBusy = true
  var out = new Data(record.written)
  if (record.length > 0) {
    bytes.shift(record.headSize)
    out.push(bytes)
  }
  return [own.start, out, own.end]
}

/** True if a connection begins with an ordinary request, or with the head of one. */
export function isOrdinary(conn, data, runtime, name, recordOf) {
  beginOrdinary(conn)
  readOrdinary(conn, new Data(data), runtime, name, recordOf)
  var isStrict = conn.ordinary.isStrict
  conn.ordinary = undefined
  return !isStrict
}

function useDecisions(own, runtime, name) {
  var decisions = runtime.ordinary
  if (!decisions.byName[name]) decisions.byName[name] = {}
  own.decisions = decisions
  own.known = decisions.byName[name]
}

// The record of the head that bytes begin with.
function findRecord(conn, bytes, text, runtime, name, recordOf) {
  if (text === undefined) return undefined
  var size = text.indexOf('\r\n\r\n') + 4
  if (size < 4) return undefined
  var head = text.substring(0, size)
  // Characters of the body may be longer than a byte, those of the head may not.
  if (text.length !== bytes.size && new Data(bytes).shift(size).toString() !== head) return undefined
  var own = conn.ordinary
  var known = own.known[head]
  if (known) return known
  var record = recordOf(conn, head)
  if (!record || head.length > LONGEST_HEAD) return record
  // Whatever is in use is forgotten as a whole, so that nothing has to be counted.
  if (runtime.ordinary.count >= MOST_HEADS) {
    runtime.ordinary = makeDecisions()
    useDecisions(own, runtime, name)
  }
  runtime.ordinary.count = runtime.ordinary.count + 1
  own.known[head] = record
  return record
}

/**
 * Reads a head that may be ordinary.
 *
 * @returns {unknown} undefined if it is not, or the head as Pipy would have it: `{ protocol, method, path, headers, length }`
 */
export function ordinaryHead(text) {
  var head = readRequestHead(text)
  if (head.status !== undefined || head.version !== 'HTTP/1.1' || head.isLast || head.isChunked || head.long)
    return undefined
  if (!methods.includes(head.method) || head.length > LONGEST_BODY || unusual.some((key) => head.all[key]))
    return undefined
  var connection = head.all[':connection']
  if (connection && (connection.values.length > 1 || connection.values[0].toLowerCase() !== 'keep-alive'))
    return undefined
  var headers = {}
  head.keys.forEach((key) => {
    var field = head.all[key]
    if (!field.isHop) headers[field.name] = field.values.join(field.name === 'cookie' ? '; ' : ',')
  })
  if (head.length !== undefined) headers['content-length'] = '' + head.length
  return { protocol: 'HTTP/1.1', method: head.method, path: head.target, headers, length: head.length || 0 }
}

/**
 * The record of a request that continues.
 *
 * @param text - its head, as it has come
 * @param head - see {@link ordinaryHead}; as it continues
 */
export function recordOfRequest(text, head, request) {
  var written = head.method + ' ' + head.path + ' HTTP/1.1\r\n'
  Object.keys(head.headers).forEach((name) => void (written = written + name + ': ' + head.headers[name] + '\r\n'))
  return {
    request,
    method: head.method,
    headSize: text.length,
    length: head.length,
    size: text.length + head.length,
    written: written + 'connection: keep-alive\r\n\r\n',
    log: undefined,
  }
}

/** What is decided on of a head; undefined for a call of gRPC, whose answers have a status of their own. */
export function ordinaryRequest(head) {
  var request = describeRequest(head)
  return request.isGrpc ? undefined : request
}

/** The end of a message on its way to the caller: that of the connection, where an answer was cut off, or what takes the strict way has ended. */
export function endOfMessage(own, end) {
  if (!own.isBusy) return new StreamEnd()
  own.isBusy = false
  var answers = own.link ? own.link.answers : undefined
  return answers && !answers.isWhole ? new StreamEnd() : end
}

/** What takes the strict way is one message. */
export function beginsMessage(own, start) {
  if (own.hasStarted) return undefined
  own.hasStarted = true
  return start
}
