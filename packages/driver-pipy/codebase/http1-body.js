// Bodies of HTTP/1.1 messages: where they end, and chunks rewritten so that Pipy sees no extension, no trailer and no size that it cannot count.
// Trailers are kept aside.

import { NUL, readTrailer } from './http1-head.js'
import { makeMemo, recall } from './memo.js'

var LF = '0a'
// A line is looked for so many bytes at a time.
var LOOK_BYTES = 64
// Longer pieces are not looked at as a text: few chunks are whole in them.
var MAX_PLAIN_BYTES = 4096
var MAX_LINE_BYTES = 1024
var MAX_TRAILER_BYTES = 16384
// 2^52 - 1: as many digits as numbers hold exactly.
var MAX_SIZE_DIGITS = 13
var digits = '0123456789abcdef'
var plainSizes = makeMemo(500, 16)

/** A body of so many bytes. */
export function bodyOfLength(length) {
  return { kind: 'length', left: length, isDone: length === 0, fault: undefined }
}

/** A body in chunks; of so many bytes at most. Trailers are kept aside, or written as well. */
export function bodyInChunks(maxBytes, writesTrailers) {
  return {
    kind: 'chunks',
    at: 'size',
    left: 0,
    line: '',
    trailerBytes: 0,
    trailers: {},
    total: 0,
    maxBytes,
    writesTrailers: Boolean(writesTrailers),
    isDone: false,
    fault: undefined,
  }
}

/** A body that ends with its connection. */
export function bodyUntilEnd() {
  return { kind: 'end', isDone: false, fault: undefined }
}

/** True for the middle of a body with a length: all of `data` belongs to it, and is counted by this. */
export function passesWhole(body, data) {
  if (body.kind !== 'length' || data.size >= body.left) return false
  body.left = body.left - data.size
  return true
}

/**
 * Takes what belongs to a body out of `data`. Afterwards `isDone` says whether that was its end, and `fault` what is wrong with it.
 *
 * @returns {unknown} what to pass on
 */
export function readBody(body, data) {
  if (body.kind === 'chunks') return readChunks(body, data)
  if (body.kind === 'end') return writeChunk(new Data(), data.shift(data.size))
  var part = data.shift(body.left < data.size ? body.left : data.size)
  body.left = body.left - part.size
  body.isDone = body.left === 0
  return part
}

function readChunks(body, data) {
  var out = new Data()
  if (body.at === 'size' && body.line === '' && data.size <= MAX_PLAIN_BYTES) passPlainChunks(body, data, out)
  for (var left = data.size; left > 0 && !body.isDone && !body.fault; left = data.size) {
    if (body.at === 'data') {
      var part = data.shift(Math.min(body.left, data.size))
      body.left = body.left - part.size
      writeChunk(out, part)
      if (body.left === 0) body.at = 'end of data'
    } else if (takeLine(body, data)) {
      var line = body.line
      body.line = ''
      if (!line.endsWith('\r\n')) body.fault = 'line end'
      else readLine(body, line.substring(0, line.length - 2), out)
    }
  }
  return out
}

// Whole chunks that are written as they would be written here pass as they are; the rest is read line by line. Each byte is a character here.
function passPlainChunks(body, data, out) {
  var text = data.toString()
  if (text === undefined || text.length !== data.size) return
  var at = 0
  for (var isPlain = true; isPlain; isPlain = isPlain && !body.isDone) {
    var end = text.indexOf('\r\n', at)
    var size = end < 0 ? undefined : recall(plainSizes, text.substring(at, end), plainSize)
    if (size === undefined || size < 0) isPlain = false
    else if (size === 0) {
      isPlain = false
      if (text.substring(end, end + 4) === '\r\n\r\n') {
        at = end + 4
        body.isDone = true
      }
    } else {
      var next = end + size + 4
      isPlain = next <= text.length && text.substring(next - 2, next) === '\r\n' && body.total + size <= body.maxBytes
      if (isPlain) {
        body.total = body.total + size
        at = next
      }
    }
  }
  if (at > 0) out.push(data.shift(at))
}

// Negative for a size that is written in another way.
function plainSize(line) {
  var size = sizeOf(line)
  return size !== undefined && (size === 0 ? line === '0' : hexOf(size) === line) ? size : -1
}

function readLine(body, line, out) {
  if (body.at === 'size') {
    var size = sizeOf(line)
    body.total = body.total + (size || 0)
    if (size === undefined) body.fault = 'chunk size'
    else if (body.total > body.maxBytes) body.fault = 'body size'
    else if (size === 0) body.at = 'trailer'
    else {
      body.left = size
      body.at = 'data'
    }
  } else if (body.at === 'end of data') {
    if (line !== '') body.fault = 'chunk end'
    body.at = 'size'
  } else if (line === '') {
    out.push(lastChunk(body.writesTrailers ? body.trailers : {}))
    body.isDone = true
  } else {
    body.trailerBytes = body.trailerBytes + line.length
    if (body.trailerBytes > MAX_TRAILER_BYTES || !readTrailer(line, body.trailers)) body.fault = 'trailer'
  }
}

// True if the line in `body.line` is whole.
function takeLine(body, data) {
  var room = MAX_LINE_BYTES - body.line.length
  var hex = new Data(data).shift(LOOK_BYTES).toString('hex')
  var at = hex.indexOf(LF)
  for (var odd = at; odd >= 0 && odd % 2 === 1; odd = at) at = hex.indexOf(LF, odd + 1)
  var taken = at < 0 ? hex.length / 2 : at / 2 + 1
  var text = data.shift(taken).toString()
  if (text === undefined || taken > room) {
    body.fault = 'line'
    return false
  }
  body.line = body.line + text
  return text.endsWith('\n')
}

// Extensions of chunks mean nothing to anybody here.
function sizeOf(line) {
  var semicolon = line.indexOf(';')
  var text = semicolon < 0 ? line : line.substring(0, semicolon)
  if (text === '' || text.length > MAX_SIZE_DIGITS) return undefined
  if (semicolon >= 0 && (line.includes('\r') || line.includes('\n') || line.includes(NUL))) return undefined
  var low = text.toLowerCase()
  var size = 0
  for (var i = 0; i < low.length; i = i + 1) {
    var digit = digits.indexOf(low.charAt(i))
    if (digit < 0) return undefined
    size = size * 16 + digit
  }
  return size
}

function writeChunk(out, part) {
  if (part.size === 0) return out
  out.push(hexOf(part.size) + '\r\n')
  out.push(part)
  out.push('\r\n')
  return out
}

/** The last chunk, with trailers by name. */
export function lastChunk(trailers) {
  var text = '0\r\n'
  Object.keys(trailers).forEach((name) => void (text = text + name + ': ' + trailers[name] + '\r\n'))
  return text + '\r\n'
}

function hexOf(number) {
  var text = ''
  for (var rest = number; rest > 0; rest = (rest - (rest % 16)) / 16) text = digits.charAt(rest % 16) + text
  return text
}
