// Frames of HTTP/2 around Pipy's reader and writer.
//
// Pipy keeps the last of repeated fields, compares the length that one stream announces with what came over another, takes informational answers for a fault, and
// writes large heads in more pieces than other readers accept. So heads are read and rewritten here, in both directions. What Pipy reads comes to it in whole frames.

import { countRefusedMessage } from './framing-counts.js'
import { MAX_BODY_BYTES, MAX_HEADERS, MAX_HEAD_BYTES, OWN_HEADER, OWN_LENGTH } from './http1-head.js'
import { isFieldName, isNumber, OWN_LONG } from './http1-head.js'
import { fieldOf, makeHeaderTable, readHeaderBlock, textOf, writeHeaderBlock } from './http2-headers.js'

var PREFACE_BYTES = 24
var FRAME_HEAD_BYTES = 9
var PING_BYTES = 8
// Most that a peer accepts without having said so.
var MAX_FRAME_BYTES = 16384

// A head that is too large is read to its end, so that it can be answered; but not forever.
var MAX_BLOCK_BYTES = 1048576

var HEADERS = 1
var PRIORITY_FRAME = 2
var RST_STREAM = 3
var SETTINGS = 4
var PING = 6
var CONTINUATION = 9
var ACK = 1
var HEADER_TABLE_SIZE = 1
var END_STREAM = 1
var END_HEADERS = 4
var PADDED = 8
var PRIORITY = 32

// About one connection, and so an error in HTTP/2.
var hopFields = ['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']
var requestPseudos = [':method', ':scheme', ':path', ':authority']

/**
 * What comes over a connection.
 *
 * @param kind - `request` or `answer`, of what it reads
 * @param secret - a number below 1 that no one else knows, where `Expect: 100-continue` is answered
 */
export function makeFrameReader(kind, secret) {
  var frames = makeFrames(kind === 'request', (reader, block) => readBlock(reader, kind, block))
  if (secret !== undefined) frames.mark = numberOf(Math.floor(secret * 4294967296), 16777216)
  return frames
}

/** What goes out over a connection; `isClient` where Pipy asks. `reader` is that of the other direction, where it answers `Expect: 100-continue`. */
export function makeFrameWriter(isClient, reader) {
  // What Pipy has written needs fewer pieces, and nothing else.
  var frames = makeFrames(isClient, (_, block) => block)
  frames.isWriter = true
  frames.mark = reader ? reader.mark : undefined
  return frames
}

/**
 * Frames as they continue.
 *
 * @returns {unknown} data, with a StreamEnd behind it where the connection has to end
 */
export function passFrames(frames, data) {
  var out = new Data()
  for (var left = data.size; left > 0 && !frames.fault; left = data.size) {
    if (frames.at === 'passing') {
      var part = data.shift(Math.min(frames.left, left))
      frames.left = frames.left - part.size
      out.push(part)
      if (frames.left === 0) frames.at = 'head'
    } else if (gather(frames, data, frames.at === 'head' ? FRAME_HEAD_BYTES : frames.frame.size)) {
      var bytes = frames.pending
      frames.pending = new Data()
      if (frames.at === 'head') beginFrame(frames, bytes, out)
      else if (frames.at === 'settings') endSettings(frames, bytes, out)
      else if (frames.at === 'ping') endPing(frames, bytes, out)
      else if (frames.at === 'whole') endWhole(frames, bytes, out)
      else endPiece(frames, bytes, out)
    }
  }
  if (!frames.fault) return out
  data.shift(data.size)
  if (frames.isOver) return undefined
  frames.isOver = true
  countRefusedMessage(frames.kind || 'answer', frames.fault)
  return [out, new StreamEnd()]
}

function makeFrames(hasPreface, rewrite) {
  return {
    at: hasPreface ? 'passing' : 'head',
    left: hasPreface ? PREFACE_BYTES : 0,
    pending: new Data(),
    frame: undefined,
    block: undefined,
    table: makeHeaderTable(),
    rewrite,
    kind: undefined,
    fault: undefined,
    isWriter: false,
    mark: undefined,
    waits: false,
    isOver: false,
  }
}

// True if that many bytes have come.
function gather(frames, data, size) {
  frames.pending.push(data.shift(Math.min(size - frames.pending.size, data.size)))
  return frames.pending.size === size
}

function beginFrame(frames, bytes, out) {
  var head = bytes.toArray()
  var frame = {
    size: head[0] * 65536 + head[1] * 256 + head[2],
    type: head[3],
    flags: head[4],
    stream: (head[5] % 128) * 16777216 + head[6] * 65536 + head[7] * 256 + head[8],
  }
  frames.frame = frame
  var block = frames.block
  if (block && (frame.type !== CONTINUATION || frame.stream !== block.stream)) frames.fault = 'frame order'
  else if (!frames.isWriter && !isSized(frame)) frames.fault = 'frame size'
  else if (frame.type === HEADERS || (frame.type === CONTINUATION && block)) {
    if (frame.size > MAX_FRAME_BYTES) frames.fault = 'frame size'
    else if (frame.size > 0) frames.at = 'piece'
    else endPiece(frames, new Data(), out)
  } else if (frames.isWriter && frames.mark && frame.type === PING && frame.size === PING_BYTES) {
    frames.at = 'ping'
  } else if (!frames.isWriter && frame.size > 0) {
    frame.head = bytes
    frames.at = 'whole'
  } else {
    out.push(bytes)
    if (frames.isWriter && frame.type === SETTINGS && !has(frame.flags, ACK) && frame.size > 0) {
      frames.at = 'settings'
      return
    }
    frames.left = frame.size
    frames.at = frame.size > 0 ? 'passing' : 'head'
  }
}

// Pipy uses its reader of a connection again for another one, as it was left. So it must not be left within a frame, nor at one that it does not read: what the next
// caller sends would be taken for the rest of it.
function endWhole(frames, bytes, out) {
  frames.at = 'head'
  out.push(frames.frame.head)
  out.push(bytes)
}

function isSized(frame) {
  if (frame.type === RST_STREAM) return frame.size === 4
  if (frame.type === PRIORITY_FRAME) return frame.size === 5
  return frame.size <= MAX_FRAME_BYTES
}

// Peers are asked to do without the table of header fields: what they add to it has to be decoded for its length alone.
function endSettings(frames, bytes, out) {
  frames.at = 'head'
  var settings = bytes.toArray()
  for (var at = 0; at + 6 <= settings.length; at = at + 6) {
    if (settings[at] === 0 && settings[at + 1] === HEADER_TABLE_SIZE)
      for (var i = 2; i < 6; i = i + 1) settings[at + i] = 0
  }
  out.push(new Data(settings))
}

// Pipy answers a ping at once. So a head with `Expect: 100-continue` has one behind it, whose answer becomes that of the stream.
function writePing(frames, stream, out) {
  out.push(new Data(frameHead(PING_BYTES, PING, 0, 0).concat(frames.mark, numberOf(stream, 16777216))))
}

function endPing(frames, bytes, out) {
  frames.at = 'head'
  var payload = bytes.toArray()
  if (frames.mark.every((byte, index) => byte === payload[index])) {
    var stream = (payload[4] % 128) * 16777216 + payload[5] * 65536 + payload[6] * 256 + payload[7]
    writePieces(out, { stream, ends: false }, writeHeaderBlock([fieldOf(':status', '100')]))
  } else {
    out.push(new Data(frameHead(PING_BYTES, PING, frames.frame.flags, 0)))
    out.push(bytes)
  }
}

// A frame of a head is there.
function endPiece(frames, bytes, out) {
  frames.at = 'head'
  var frame = frames.frame
  var isFirst = frame.type === HEADERS
  if (isFirst) {
    frames.block = { stream: frame.stream, ends: has(frame.flags, END_STREAM), data: new Data() }
    if (!unpack(frame, bytes)) {
      frames.fault = 'frame'
      return
    }
  }
  var block = frames.block
  block.data.push(bytes)
  if (block.data.size > MAX_BLOCK_BYTES) frames.fault = 'size'
  if (frames.fault || !has(frame.flags, END_HEADERS)) return
  frames.block = undefined
  var data = frames.rewrite(frames, block.data)
  if (data) writePieces(out, block, data)
  if (frames.waits && !block.ends) writePing(frames, block.stream, out)
}

// Takes padding and priority off.
function unpack(frame, bytes) {
  var padding = 0
  if (has(frame.flags, PADDED)) {
    if (bytes.size < 1) return false
    padding = bytes.shift(1).toArray()[0]
  }
  if (has(frame.flags, PRIORITY)) {
    if (bytes.size < 5) return false
    bytes.shift(5)
  }
  if (padding > bytes.size) return false
  if (padding > 0) bytes.pop(padding)
  return true
}

function writePieces(out, block, data) {
  var type = HEADERS
  for (var isLast = false; !isLast; type = CONTINUATION) {
    var piece = data.shift(Math.min(MAX_FRAME_BYTES, data.size))
    isLast = data.size === 0
    var flags = (isLast ? END_HEADERS : 0) + (type === HEADERS && block.ends ? END_STREAM : 0)
    out.push(new Data(frameHead(piece.size, type, flags, block.stream)))
    out.push(piece)
  }
}

function frameHead(size, type, flags, stream) {
  return numberOf(size, 65536).concat([type, flags], numberOf(stream, 16777216))
}

// Bytes of a number, the first of which has that weight.
function numberOf(number, weight) {
  var bytes = []
  var rest = number
  for (var each = weight; each >= 1; each = each / 256) {
    var byte = (rest - (rest % each)) / each
    bytes.push(byte)
    rest = rest - byte * each
  }
  return bytes
}

function has(flags, bit) {
  return flags % (bit * 2) >= bit
}

// The block for Pipy; undefined for what does not continue.
function readBlock(frames, kind, data) {
  frames.kind = kind
  frames.waits = false
  var fields = readHeaderBlock(frames.table, data, MAX_HEAD_BYTES)
  if (fields === undefined) {
    frames.fault = 'header block'
    return undefined
  }
  // Trailers have nothing that says what they are.
  var isTrailers = fields !== 'large' && !fields.some((field) => field.name.startsWith(':'))
  var isAnswer = kind === 'answer'
  var result =
    fields === 'large' ? { status: isAnswer ? 502 : 431, reason: 'size' } : settle(fields, isAnswer, isTrailers)
  if (result.status !== undefined) {
    if (isTrailers) {
      frames.fault = 'trailer'
      return undefined
    }
    countRefusedMessage(kind, result.reason)
    return writeHeaderBlock(isAnswer ? refusedAnswer() : refusedRequest(result.status))
  }
  frames.waits = Boolean(frames.mark) && !isTrailers && result.waits
  if (isAnswer && !isTrailers && isInformational(result.fields)) return undefined
  return writeHeaderBlock(result.fields)
}

// Those that announce something else than the answer: it follows.
function isInformational(fields) {
  return textOf(fields[0]).startsWith('1')
}

// Fields as Pipy may see them, each name once: `{ fields }`, or `{ status, reason }` for a refusal.
function settle(fields, isAnswer, isTrailers) {
  var bad = (reason) => ({ status: isAnswer ? 502 : 400, reason })
  if (fields.length > MAX_HEADERS) return { status: isAnswer ? 502 : 431, reason: 'headers' }
  var pseudos = []
  var settled = []
  var byName = {}
  var fault = undefined
  fields.forEach((field) => {
    var name = field.name
    if (name.startsWith(':')) {
      if (byName[name] || settled.length > 0) fault = bad('pseudo header')
      else if (isAnswer ? name !== ':status' : !requestPseudos.includes(name)) fault = bad('pseudo header')
      byName[name] = { field }
      pseudos.push(field)
    } else if (!isFieldName(name)) fault = bad('header name')
    else if (hopFields.includes(name)) fault = bad('hop header')
    else if (name === 'te' && textOf(field) !== 'trailers') fault = bad('te')
    else if (name !== OWN_HEADER && name !== OWN_LENGTH && name !== OWN_LONG) add(settled, byName, field)
  })
  if (fault) return fault
  if (!isTrailers && isAnswer !== Boolean(byName[':status'])) return bad('pseudo header')
  if (isAnswer && !isTrailers && !isNumber(textOf(pseudos[0]) || '')) return bad('status')
  var host = byName[keyOf('host')]
  if (host && (byName[':authority'] || isTrailers)) {
    // The authority holds (RFC 9113, section 8.3.1).
    settled = settled.filter((each) => each.field.name !== 'host')
  } else if (host && host.others) return bad('host')
  var length = byName[keyOf('content-length')]
  if (length) {
    var text = length.others ? '' : textOf(length.field)
    if (text === undefined || !isNumber(text)) return bad('content-length')
    if (text.length > 19 || (!isAnswer && +text > MAX_BODY_BYTES))
      return { status: isAnswer ? 502 : 413, reason: 'content-length' }
    // Trailers say nothing of it.
    length.field = fieldOf(OWN_LENGTH, text)
    if (isTrailers) settled = settled.filter((each) => each !== length)
  }
  // The sidecar answers it; see http1-requests.js.
  var expected = byName[keyOf('expect')]
  if (expected && !isAnswer) {
    if (expected.others || textOf(expected.field) !== '100-continue') return { status: 417, reason: 'expect' }
    settled = settled.filter((each) => each !== expected)
  }
  var all = pseudos.concat(settled.map(joined))
  return all.every((field) => field.value !== undefined && textOf(field) !== undefined)
    ? { fields: all, waits: Boolean(expected) }
    : bad('characters')
}

function add(settled, byName, field) {
  var key = keyOf(field.name)
  var known = byName[key]
  if (known && field.name !== 'set-cookie') {
    if (!known.others) known.others = [field]
    else known.others.push(field)
    return
  }
  byName[key] = { field }
  settled.push(byName[key])
}

// A key is not a name that objects have properties by, such as `constructor`.
function keyOf(name) {
  return '=' + name
}

// A field with the values of all that have its name.
function joined(each) {
  if (!each.others) return each.field
  var values = [each.field].concat(each.others).map(textOf)
  if (values.some((value) => value === undefined)) return { name: each.field.name }
  return fieldOf(each.field.name, values.join(each.field.name === 'cookie' ? '; ' : ','))
}

function refusedRequest(status) {
  return [
    fieldOf(':method', 'GET'),
    fieldOf(':scheme', 'http'),
    fieldOf(':path', '/'),
    fieldOf(':authority', 'invalid'),
    fieldOf(OWN_HEADER, 'refused ' + status),
  ]
}

function refusedAnswer() {
  return [fieldOf(':status', '502'), fieldOf(OWN_HEADER, 'refused 502')]
}
