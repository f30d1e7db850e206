// Heads of HTTP/1.1 messages, read more strictly than Pipy reads them, and written so that it can misread nothing.
//
// Pipy takes a header that is repeated by its last value, a length of 2^31 bytes for a negative one, and much else for what another reader would not. So it gets to see
// only what this module has written.

import { countRefusedMessage } from './framing-counts.js'
import { makeMemo, recall } from './memo.js'

/** Longest body with a length, in bytes: Pipy counts with 32 bits. */
export var MAX_BODY_BYTES = 2147483647

/** Longest head, in bytes, as Envoy has it; most headers in one. */
export var MAX_HEAD_BYTES = 262144
export var MAX_HEADERS = 1000

/** What these scripts tell themselves in a head: no one else may use the name. */
export var OWN_HEADER = 'osm-sidecar-framing'

/** A length that Pipy must not read: of a message of HTTP/2, which it mistakes for that of another one (http2-frames.js), or of the body that a 304 does not have. */
export var OWN_LENGTH = 'osm-sidecar-length'

/** The number of what is kept aside of a request: Pipy closes connections with lines of more than 16 kB. */
export var OWN_LONG = 'osm-sidecar-long'
// A character has four bytes at most.
var MAX_LINE = 4000

/** What {@link settleHead} says of a request that only requests `100 Continue`. */
export var CONTINUE = 100

// Pipy reads these methods. Others pass it under the name of a known one.
var knownMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']
// What Envoy reads besides.
var otherMethods = (
  'ACL BIND CHECKOUT COPY LINK LOCK M-SEARCH MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY PROPFIND PROPPATCH PURGE REBIND REPORT SEARCH SOURCE SUBSCRIBE ' +
  'UNBIND UNLINK UNLOCK UNSUBSCRIBE'
).split(' ')

// Headers of one hop (RFC 9110, section 7.6.1), and those of framing, which are rewritten.
var hopHeaders = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'content-length',
  'upgrade',
  'http2-settings',
  'expect',
]
// What must arrive, whatever Connection names.
var endHeaders = [
  'host',
  'content-length',
  'transfer-encoding',
  'cookie',
  'set-cookie',
  'authorization',
  'content-type',
]

// PipyJS takes the escape in a literal for no character at all.
export var NUL = String.fromCharCode(0)

var tokenOnly = new RegExp("^[-!#$%&'*+.^_`|~0-9A-Za-z]+$")
var control = new RegExp('[\\x01-\\x08\\x0a-\\x1f\\x7f]')
var digitsOnly = new RegExp('^[0-9]+$')
var MAX_DIGITS = 100
var oddInHost = new RegExp('[^-0-9A-Za-z._~:%\\[\\]]')

// Options of Connection that name no header.
var ownOptions = ['close', 'keep-alive', 'upgrade', '']
var ownKeys = [':' + OWN_HEADER, ':' + OWN_LENGTH, ':' + OWN_LONG]

// Heads and lines that have been read, by their text: reading one costs many times what it costs to find it here. Each of a bounded length, and so many at most.
var heads = { requests: {}, answers: {}, count: 0 }
var MAX_KEPT_HEADS = 200
var MAX_KEPT_HEAD = 1024
var fields = { known: {}, count: 0 }
var MAX_KEPT_LINES = 1000
var MAX_KEPT_LINE = 128

// Header names that have been looked at: most requests bring the same ones.
var MAX_NAME_LENGTH = 256
var names = makeMemo(500, MAX_NAME_LENGTH)

/**
 * Reads the head of a request, up to and including its empty line.
 *
 * @param text - undefined for bytes that are not UTF-8
 * @returns {unknown} `{ status, reason }` for a head that is refused, or `{ method, target, version, fields, length, isChunked, isUpgrade, isLast }`: fields
 *   as text without those of one hop; `isLast` if the caller wants no other request on the connection
 */
export function readRequestHead(text) {
  var known = heads.requests[text]
  if (known) return known
  var head = parseRequestHead(text)
  if (head.status === undefined) keepHead('requests', text, head)
  return head
}

function parseRequestHead(text) {
  var lines = linesOf(text)
  if (!lines) return refused(400, 'characters')
  var words = lines[0].split(' ')
  if (words.length !== 3 || words[0] === '' || words[1] === '') return refused(400, 'request line')
  var version = words[2]
  if (version !== 'HTTP/1.1' && version !== 'HTTP/1.0')
    return refused(version.startsWith('HTTP/') ? 505 : 400, 'version')
  var method = words[0]
  if (!knownMethods.includes(method) && !otherMethods.includes(method))
    return refused(method === 'CONNECT' ? 400 : 501, 'method')
  var head = { method, target: words[1], version, fields: '', written: undefined, isUpgrade: false, isLast: false }
  var fault = readFields(head, lines, 1)
  if (fault) return fault
  var hosts = valuesOf(head, 'host') || []
  if (hosts.length > 1 || (hosts.length === 0 && version === 'HTTP/1.1')) return refused(400, 'host')
  if (hosts.length === 1 && oddInHost.test(hosts[0])) return refused(400, 'host')
  var expected = valuesOf(head, 'expect')
  if (expected && (expected.length > 1 || expected[0].toLowerCase() !== '100-continue')) return refused(417, 'expect')
  fault = readFraming(head, 413)
  if (fault) return fault
  if (head.isChunked && version === 'HTTP/1.0') return refused(400, 'transfer-encoding')
  var options = readConnection(head, true)
  if (!options) return refused(400, 'connection')
  head.isLast = options.includes('close') || (version === 'HTTP/1.0' && !options.includes('keep-alive'))
  head.expectsContinue = Boolean(expected) && version === 'HTTP/1.1' && (head.isChunked || head.length > 0)
  if (isLong(head.target) || head.long) head.long = Object.assign({ path: undefined, headers: {} }, head.long || {})
  if (isLong(head.target)) head.long.path = head.target
  head.isUpgrade =
    options.includes('upgrade') && method === 'GET' && !head.isChunked && !(head.length > 0) && isWebSocket(head)
  return head
}

/**
 * Reads the head of an answer.
 *
 * @param request - `{ method, isUpgrade }` of what is answered
 * @returns {unknown} `{ status, reason }` as above, where the status is 502, or `{ code, text, fields, length, isChunked, isUpgrade, isLast, hasBody }`
 */
export function readAnswerHead(text, request) {
  if (request && (request.method === 'HEAD' || request.isUpgrade)) return parseAnswerHead(text, request)
  var known = heads.answers[text]
  if (known) return known
  var head = parseAnswerHead(text, request)
  if (head.status === undefined) keepHead('answers', text, head)
  return head
}

function parseAnswerHead(text, request) {
  var lines = linesOf(text)
  if (!lines) return refused(502, 'characters')
  var line = lines[0]
  var version = line.substring(0, 8)
  var code = line.substring(9, 12)
  if (
    (version !== 'HTTP/1.1' && version !== 'HTTP/1.0') ||
    line.charAt(8) !== ' ' ||
    !isNumber(code) ||
    code.length !== 3
  )
    return refused(502, 'status line')
  if (line.length > 12 && line.charAt(12) !== ' ') return refused(502, 'status line')
  var head = { code: +code, text: line.substring(13), fields: '', written: undefined, isUpgrade: false, isLast: false }
  if (head.code < 100 || head.code > 599) return refused(502, 'status')
  var fault = readFields(head, lines, 1)
  if (fault) return refused(502, fault.reason)
  fault = readFraming(head, 502)
  if (fault) return refused(502, fault.reason)
  var options = readConnection(head, false)
  if (!options) return refused(502, 'connection')
  head.isLast = options.includes('close') || (version === 'HTTP/1.0' && !options.includes('keep-alive'))
  if (head.code === 101) {
    head.isUpgrade = Boolean(request && request.isUpgrade) && isWebSocket(head)
    if (!head.isUpgrade) return refused(502, 'upgrade')
  }
  // It announces what follows the chunks, and they are kept.
  if (head.isChunked && valuesOf(head, 'trailer'))
    head.fields = head.fields + 'trailer: ' + valuesOf(head, 'trailer').join(',') + '\r\n'
  var isHead = Boolean(request) && request.method === 'HEAD'
  head.hasBody = head.code >= 200 && head.code !== 204 && head.code !== 304 && !isHead
  // Pipy would wait for a body of that length, which never comes.
  head.isLengthAside = head.code === 304 && !isHead
  return head
}

/** Text of a request for Pipy; with the number of what is kept aside, if anything is. */
export function writeRequestHead(head, longNumber) {
  if (longNumber !== undefined) return requestText(head, longNumber)
  if (head.written === undefined) head.written = requestText(head, undefined)
  return head.written
}

function requestText(head, longNumber) {
  var isKnown = knownMethods.includes(head.method)
  var text =
    (isKnown ? head.method : 'POST') +
    ' ' +
    (isLong(head.target) ? '/' : head.target) +
    ' ' +
    head.version +
    '\r\n' +
    head.fields
  if (longNumber !== undefined) text = text + OWN_LONG + ': ' + longNumber + '\r\n'
  if (!isKnown) text = text + OWN_HEADER + ': method ' + head.method + '\r\n'
  if (head.isUpgrade) return text + 'upgrade: websocket\r\nconnection: upgrade\r\n\r\n'
  if (head.isChunked) text = text + 'transfer-encoding: chunked\r\n'
  else if (head.length !== undefined) text = text + 'content-length: ' + head.length + '\r\n'
  return text + 'connection: ' + (head.isLast ? 'close' : 'keep-alive') + '\r\n\r\n'
}

/** Text of a request that stands for one that was refused: Pipy answers it, in its turn, and closes the connection. */
export function writeRefusedRequest(fault) {
  return (
    'GET / HTTP/1.1\r\nhost: invalid\r\n' + OWN_HEADER + ': refused ' + fault.status + '\r\nconnection: close\r\n\r\n'
  )
}

/** Text of a request that requests `100 Continue`: Pipy answers it in its turn, between the answers to other requests. */
export function writeContinueRequest() {
  return 'GET / HTTP/1.1\r\nhost: invalid\r\n' + OWN_HEADER + ': continue\r\nconnection: keep-alive\r\n\r\n'
}

/** Text of an answer for Pipy. One that ends with its connection gets chunks, because Pipy ends it after 2 GiB. */
export function writeAnswerHead(head) {
  if (head.written === undefined) head.written = answerText(head)
  return head.written
}

function answerText(head) {
  // A space behind the status even where no reason follows: without it Pipy reads no status.
  var text = 'HTTP/1.1 ' + head.code + ' ' + head.text + '\r\n' + head.fields
  if (head.isUpgrade) return text + 'upgrade: websocket\r\nconnection: upgrade\r\n\r\n'
  if (!head.hasBody) {
    if (head.length !== undefined && head.code >= 200 && head.code !== 204)
      text = text + (head.isLengthAside ? OWN_LENGTH : 'content-length') + ': ' + head.length + '\r\n'
  } else if (head.length !== undefined) text = text + 'content-length: ' + head.length + '\r\n'
  else text = text + 'transfer-encoding: chunked\r\n'
  return text + 'connection: ' + (head.isLast ? 'close' : 'keep-alive') + '\r\n\r\n'
}

/** Text of an answer that stands for one that was refused. */
export function writeRefusedAnswer() {
  return 'HTTP/1.1 502 Bad Gateway\r\n' + OWN_HEADER + ': refused 502\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'
}

/**
 * Takes what these scripts have told themselves out of a head that Pipy has read.
 *
 * @param requests - the reader of the connection that a request has come over
 * @returns {unknown} the status of a refusal, {@link CONTINUE}, or undefined
 */
export function settleHead(head, requests) {
  var headers = head.headers
  if (!headers) return undefined
  var number = headers[OWN_LONG]
  if (number !== undefined) {
    delete headers[OWN_LONG]
    var long = requests ? requests.long[number] : undefined
    if (long) {
      delete requests.long[number]
      Object.assign(headers, long.headers)
      if (long.path !== undefined) head.path = long.path
    }
  }
  if (headers[OWN_LENGTH] !== undefined) {
    headers['content-length'] = headers[OWN_LENGTH]
    delete headers[OWN_LENGTH]
  }
  // What has come over HTTP/1.1 has been looked at before.
  if (head.protocol !== 'HTTP/1.1' && head.protocol !== 'HTTP/1.0' && isInvalid(head)) {
    countRefusedMessage(head.status === undefined ? 'request' : 'answer', 'characters')
    return head.status === undefined ? 400 : 502
  }
  var own = headers[OWN_HEADER]
  if (own === undefined) return undefined
  delete headers[OWN_HEADER]
  if (own.startsWith('method ')) head.method = own.substring(7)
  if (own === 'continue') return CONTINUE
  return own.startsWith('refused ') ? +own.substring(8) : undefined
}

/** True for digits alone. Longer texts are refused unread: Pipy calls itself for each character that an expression repeats, and crashes of too many. */
export function isNumber(text) {
  return text.length <= MAX_DIGITS && digitsOnly.test(text)
}

// Pipy's own `trim` also takes off all that is not ASCII.
function trimmed(text) {
  var start = 0
  var end = text.length
  for (var first = text.charCodeAt(start); first === 32 || first === 9; first = text.charCodeAt(start))
    start = start + 1
  if (start >= end) return ''
  for (var last = text.charCodeAt(end - 1); last === 32 || last === 9; last = text.charCodeAt(end - 1)) end = end - 1
  return start === 0 && end === text.length ? text : text.substring(start, end)
}

/** True for a name as HTTP/2 has it, which is in lower case. */
export function isFieldName(text) {
  return nameOf(text) === text
}

// Characters that HTTP/1.1 would not have let through.
function isInvalid(head) {
  var isBad = (text) => control.test(text) || text.includes(NUL)
  if (head.path && isBad(head.path)) return true
  if (head.authority && oddInHost.test(head.authority)) return true
  var headers = head.headers
  return Object.keys(headers).some((name) => {
    var value = headers[name]
    return typeof value === 'string' ? isBad(value) : value.some(isBad)
  })
}

/** The head of the answer to a request that requests `100 Continue`; see http1-output.js. */
export function continueHead() {
  var headers = {}
  headers[OWN_HEADER] = 'continue'
  return { status: 200, headers }
}

/** True for {@link continueHead}. Answers of others cannot have its header. */
export function isContinueHead(head) {
  return Boolean(head.headers) && head.headers[OWN_HEADER] === 'continue'
}

/**
 * Reads a line of trailers into an object, by name.
 *
 * @returns {unknown} false if the line is invalid
 */
export function readTrailer(line, trailers) {
  var colon = line.indexOf(':')
  var name = colon > 0 ? nameOf(line.substring(0, colon)) : undefined
  if (name === undefined || line.includes(NUL) || control.test(line)) return false
  // Trailers must not change what the message means (RFC 9110, section 6.5.1).
  if (name === OWN_HEADER || hopHeaders.includes(name) || endHeaders.includes(name)) return true
  var value = trimmed(line.substring(colon + 1))
  trailers[name] = trailers[name] === undefined ? value : trailers[name] + ',' + value
  return true
}

function refused(status, reason) {
  return { status, reason }
}

function linesOf(text) {
  if (text === undefined || text.includes(NUL)) return undefined
  var lines = text.split('\r\n')
  // The empty line, and what is behind it.
  lines.pop()
  lines.pop()
  return lines.length === 0 || control.test(lines[0]) ? undefined : lines
}

// Fields by name in `head.all`, and the keys in order in `head.keys`.
function readFields(head, lines, first) {
  if (lines.length - first > MAX_HEADERS) return refused(431, 'headers')
  var all = {}
  var keys = []
  for (var i = first; i < lines.length; i = i + 1) {
    var line = lines[i]
    var field = fields.known[line]
    if (!field || field.key === undefined) field = readField(line)
    if (field.fault) return refused(400, field.fault)
    var key = field.key
    var other = all[key]
    if (other) all[key] = Object.assign({}, other, { values: other.values.concat(field.values) })
    else if (!ownKeys.includes(key)) {
      // No one else may use those names.
      keys.push(key)
      all[key] = field
    }
  }
  head.all = all
  head.keys = keys
  return undefined
}

// A line of a head: `{ fault }`, or `{ key, name, values, isHop, text }`. A key is not a name that objects have properties by.
function readField(line) {
  var colon = line.indexOf(':')
  if (control.test(line)) return { fault: 'characters' }
  if (colon <= 0) return { fault: 'header' }
  var name = nameOf(line.substring(0, colon))
  if (name === undefined) return { fault: 'header name' }
  var value = trimmed(line.substring(colon + 1))
  var field = {
    key: ':' + name,
    name,
    values: [value],
    isHop: hopHeaders.includes(name),
    text: textOfField(name, value),
  }
  if (line.length <= MAX_KEPT_LINE) {
    if (fields.count >= MAX_KEPT_LINES) {
      fields.known = {}
      fields.count = 0
    }
    fields.known[line] = field
    fields.count = fields.count + 1
  }
  return field
}

function valuesOf(head, name) {
  var field = head.all[':' + name]
  return field ? field.values : undefined
}

function textOfField(name, value) {
  return name + ': ' + value + '\r\n'
}

// Most heads have been seen before, or their lines.
function keepHead(kind, text, head) {
  if (text.length > MAX_KEPT_HEAD) return
  if (heads.count >= MAX_KEPT_HEADS) {
    heads.requests = {}
    heads.answers = {}
    heads.count = 0
  }
  heads[kind][text] = head
  heads.count = heads.count + 1
}

function nameOf(text) {
  return recall(names, text, readName)
}

function readName(text) {
  return text.length > MAX_NAME_LENGTH || !tokenOnly.test(text) ? undefined : text.toLowerCase()
}

function readFraming(head, tooLarge) {
  var codings = valuesOf(head, 'transfer-encoding')
  var lengths = valuesOf(head, 'content-length')
  head.isChunked = codings !== undefined
  if (codings) {
    if (lengths) return refused(400, 'content-length with transfer-encoding')
    if (codings.length !== 1 || codings[0].toLowerCase() !== 'chunked') return refused(501, 'transfer-encoding')
  }
  if (lengths) {
    var length = lengths[0]
    if (lengths.length !== 1 || !isNumber(length)) return refused(400, 'content-length')
    if (length.length > 19 || +length > MAX_BODY_BYTES) return refused(tooLarge, 'content-length')
    head.length = +length
  }
  return undefined
}

// Writes the fields that continue, without those that Connection names. Gives its options, or undefined if it names what must arrive.
function readConnection(head, keepsLong) {
  var values = valuesOf(head, 'connection')
  var options = values ? optionsOf(values) : []
  var named = options.filter((option) => !ownOptions.includes(option))
  if (named.some((option) => endHeaders.includes(option))) return undefined
  var text = ''
  var keys = head.keys
  for (var i = 0; i < keys.length; i = i + 1) {
    var field = head.all[keys[i]]
    if (!field.isHop && (named.length === 0 || !named.includes(field.name))) {
      var line = field.values.length === 1 ? field.text : textOfRepeated(field)
      if (!keepsLong || !isLong(line)) text = text + line
      else {
        if (!head.long) head.long = { path: undefined, headers: {} }
        head.long.headers[field.name] = line.substring(field.name.length + 2, line.length - 2)
      }
    }
  }
  head.fields = text
  return options
}

function isLong(text) {
  return text.length > MAX_LINE
}

function optionsOf(values) {
  return values
    .join(',')
    .split(',')
    .map((option) => trimmed(option).toLowerCase())
}

// One value of all, as Envoy has it.
function textOfRepeated(field) {
  var name = field.name
  if (name === 'set-cookie') return field.values.map((value) => textOfField(name, value)).join('')
  return textOfField(name, field.values.join(name === 'cookie' ? '; ' : ','))
}

function isWebSocket(head) {
  var values = valuesOf(head, 'upgrade')
  return values !== undefined && values.length === 1 && values[0].toLowerCase() === 'websocket'
}
