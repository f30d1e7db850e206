// Header blocks of HTTP/2 (HPACK, RFC 7541). Pipy's reader keeps the last of repeated fields, so blocks are read here, and rewritten without references to the
// table of the connection: Pipy's own table stays empty.

import { makeMemo, recall } from './memo.js'
import { areUtf8, isUtf8 } from './utf8.js'

// RFC 7541, appendix A: a name, or a name and a value.
var staticFields = [
  [':authority'],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ['accept-charset'],
  ['accept-encoding', 'gzip, deflate'],
].concat(
  (
    'accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control content-disposition content-encoding ' +
    'content-language content-length content-location content-range content-type cookie date etag expect expires from host if-match if-modified-since ' +
    'if-none-match if-range if-unmodified-since last-modified link location max-forwards proxy-authenticate proxy-authorization range referer refresh ' +
    'retry-after server set-cookie strict-transport-security transfer-encoding user-agent vary via www-authenticate'
  )
    .split(' ')
    .map((name) => [name]),
)

// RFC 7541, appendix B: the symbols of each length of code, in the order of their codes, which follow one another.
var symbolsByLength = {
  5: '48,49,50,97,99,101,105,111,115,116',
  6: '32,37,45,46,47,51,52,53,54,55,56,57,61,65,95,98,100,102,103,104,108,109,110,112,114,117',
  7: '58,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,81,82,83,84,85,86,87,89,106,107,113,118,119,120,121,122',
  8: '38,42,44,59,88,90',
  10: '33,34,40,41,63',
  11: '39,43,124',
  12: '35,62',
  13: '0,36,64,91,93,126',
  14: '94,125',
  15: '60,96,123',
  19: '92,195,208',
  20: '128,130,131,162,184,194,224,226',
  21: '153,161,167,172,176,177,179,209,216,217,227,229,230',
  22: '129,132,133,134,136,146,154,156,160,163,164,169,170,173,178,181,185,186,187,189,190,196,198,228,232,233',
  23: '1,135,137,138,139,140,141,143,147,149,150,151,152,155,157,158,165,166,168,174,175,180,182,183,188,191,197,231,239',
  24: '9,142,144,145,148,159,171,206,215,225,236,237',
  25: '199,207,234,235',
  26: '192,193,200,201,202,205,210,213,218,219,238,240,242,243,255',
  27: '203,204,211,212,214,221,222,223,241,244,245,246,247,248,250,251,252,253,254',
  28: '2,3,4,5,6,7,8,11,12,14,15,16,17,18,19,20,21,23,24,25,26,27,28,29,30,31,127,220,249',
  30: '10,13,22,256',
}
var END_OF_STRING = 256
var LONGEST_CODE = 30
var codes = makeCodes()

var TABLE_BYTES = 4096
var ENTRY_BYTES = 32

// Short texts that have been decoded: most blocks bring the same ones.
var MAX_TEXTS = 500
var MAX_TEXT_BYTES = 200
var texts = makeMemo(MAX_TEXTS, 2 * MAX_TEXT_BYTES)

// Pipy takes 16 kB of memory for each piece of data, so that small ones are put together.
var MAX_PACKED_BYTES = 1024

// Bytes of names that have been written.
var names = makeMemo(MAX_TEXTS, MAX_TEXT_BYTES)

/** The table of a connection that no block has come over. */
export function makeHeaderTable() {
  return { entries: [], bytes: 0, limit: TABLE_BYTES }
}

/**
 * Reads a block.
 *
 * @param maxBytes - of names and values in all
 * @returns {unknown} a list of `{ name, value, isHuffman }`, where `value` is Data as it was written; `large`; or undefined for an invalid block, after which the
 *   table is not that of the other side any more
 */
export function readHeaderBlock(table, block, maxBytes) {
  var reader = { bytes: block.toArray(), rest: new Data(block), at: 0, taken: 0, isBad: false }
  var fields = []
  var bytes = 0
  for (var left = reader.bytes.length; left > 0 && !reader.isBad; left = reader.bytes.length - reader.at) {
    var field = readField(table, reader)
    if (field) {
      bytes = bytes + field.name.length + field.value.size
      // The rest is read for the table alone.
      if (bytes <= maxBytes) fields.push(field)
    }
  }
  if (reader.isBad) return undefined
  return bytes > maxBytes ? 'large' : fields
}

/** A field of a text. */
export function fieldOf(name, text) {
  return { name, value: new Data(text), isHuffman: false }
}

/** The value of a field as text: undefined for what is not UTF-8. */
export function textOf(field) {
  return stringOf(field.value, field.isHuffman)
}

/** Writes fields, none of which refers to a table. */
export function writeHeaderBlock(fields) {
  var block = new Data()
  var bytes = []
  fields.forEach((field) => {
    var size = field.value.size
    bytes = bytes.concat([0], numberBytes(0, field.name.length), bytesOf(field.name))
    bytes = bytes.concat(numberBytes(field.isHuffman ? 128 : 0, size))
    if (size <= MAX_PACKED_BYTES) bytes = bytes.concat(field.value.toArray())
    if (size > MAX_PACKED_BYTES || bytes.length > MAX_PACKED_BYTES) {
      block.push(new Data(bytes))
      bytes = []
    }
    if (size > MAX_PACKED_BYTES) block.push(new Data(field.value))
  })
  if (bytes.length > 0) block.push(new Data(bytes))
  return block
}

function bytesOf(name) {
  return recall(names, name, (text) => new Data(text).toArray())
}

function readField(table, reader) {
  var first = reader.bytes[reader.at]
  if (first >= 128) return entryAt(table, reader, readNumber(reader, 127))
  if (first >= 64) return addEntry(table, readLiteral(table, reader, 63))
  if (first >= 32) {
    var limit = readNumber(reader, 31)
    if (limit > TABLE_BYTES) reader.isBad = true
    table.limit = limit
    evict(table)
    return undefined
  }
  return readLiteral(table, reader, 15)
}

function readLiteral(table, reader, mask) {
  var index = readNumber(reader, mask)
  var named = index > 0 ? entryAt(table, reader, index) : undefined
  var name = named ? named.name : undefined
  if (index === 0) {
    var string = readString(reader)
    name = string ? stringOf(string.value, string.isHuffman) : undefined
  }
  if (name === undefined || name === '') reader.isBad = true
  var value = reader.isBad ? undefined : readString(reader)
  return value ? { name, value: value.value, isHuffman: value.isHuffman } : undefined
}

function entryAt(table, reader, index) {
  var fixed = index > 0 ? staticFields[index - 1] : undefined
  if (fixed) return fieldOf(fixed[0], fixed[1] || '')
  var entry = index > 0 ? table.entries[index - 1 - staticFields.length] : undefined
  if (entry) return { name: entry.name, value: new Data(entry.hex, 'hex'), isHuffman: entry.isHuffman }
  reader.isBad = true
  return undefined
}

// The size of an entry is that of its decoded value.
function addEntry(table, field) {
  if (!field) return undefined
  var length = field.isHuffman ? huffmanLength(field.value) : field.value.size
  var entry = { name: field.name, hex: field.value.toString('hex'), isHuffman: field.isHuffman }
  entry.bytes = ENTRY_BYTES + field.name.length + length
  table.entries.unshift(entry)
  table.bytes = table.bytes + entry.bytes
  evict(table)
  return field
}

function evict(table) {
  for (var excess = table.bytes - table.limit; excess > 0; excess = table.bytes - table.limit) {
    table.bytes = table.bytes - table.entries.pop().bytes
  }
}

// `mask` is the largest number that the rest of the first byte holds.
function readNumber(reader, mask) {
  var number = reader.bytes[reader.at] % (mask + 1)
  reader.at = reader.at + 1
  if (number < mask) return number
  var byte = 128
  for (var factor = 1; byte >= 128; factor = factor * 128) {
    byte = reader.bytes[reader.at]
    reader.at = reader.at + 1
    if (byte === undefined || factor > 2097152) {
      reader.isBad = true
      return 0
    }
    number = number + (byte % 128) * factor
  }
  return number
}

function readString(reader) {
  var first = reader.bytes[reader.at]
  if (first === undefined) {
    reader.isBad = true
    return undefined
  }
  var size = readNumber(reader, 127)
  if (reader.isBad || reader.at + size > reader.bytes.length) {
    reader.isBad = true
    return undefined
  }
  reader.rest.shift(reader.at - reader.taken)
  var value = reader.rest.shift(size)
  reader.at = reader.at + size
  reader.taken = reader.at
  return { value, isHuffman: first >= 128 }
}

function numberBytes(flag, number) {
  if (number < 127) return [flag + number]
  var bytes = [flag + 127]
  var rest = number - 127
  for (var more = rest >= 128; more; more = rest >= 128) {
    bytes.push(128 + (rest % 128))
    rest = (rest - (rest % 128)) / 128
  }
  bytes.push(rest)
  return bytes
}

function stringOf(data, isHuffman) {
  if (!isHuffman) {
    if (data.size === 0) return ''
    var text = data.toString()
    return isUtf8(data, text) ? text : undefined
  }
  var decoded = decodedOf(data)
  return decoded ? decoded.text : undefined
}

function huffmanLength(data) {
  var decoded = decodedOf(data)
  // Pipy refuses it when it gets there.
  return decoded ? decoded.length : data.size
}

function decodedOf(data) {
  if (data.size > MAX_TEXT_BYTES) return decode(data)
  return recall(texts, data.toString('hex'), () => decode(data))
}

// `{ text, length }`; undefined for what is not a string.
function decode(data) {
  var symbols = []
  var code = 0
  var length = 0
  var isBad = false
  data.toArray().forEach((byte) => {
    for (var weight = 128; weight >= 1; weight = weight / 2) {
      code = code * 2 + (byte % (weight * 2) >= weight ? 1 : 0)
      length = length + 1
      var row = codes[length]
      if (row && code - row.first < row.symbols.length) {
        var symbol = row.symbols[code - row.first]
        if (symbol === END_OF_STRING) isBad = true
        symbols.push(symbol)
        code = 0
        length = 0
      } else if (length >= LONGEST_CODE) {
        isBad = true
        length = 0
      }
    }
  })
  // What is left is the begin of the code that ends strings, and no whole byte.
  if (isBad || length > 7 || code !== Math.pow(2, length) - 1) return undefined
  var text = symbols.length === 0 ? '' : areUtf8(symbols) ? new Data(symbols).toString() : undefined
  return { text, length: symbols.length }
}

function makeCodes() {
  var rows = []
  var next = 0
  for (var length = 0; length <= LONGEST_CODE; length = length + 1) {
    var listed = symbolsByLength[length]
    var symbols = listed ? listed.split(',').map((symbol) => +symbol) : []
    rows.push(listed ? { first: next, symbols } : undefined)
    next = (next + symbols.length) * 2
  }
  return rows
}
