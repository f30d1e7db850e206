// Whether bytes are UTF-8 as RFC 3629 has it. Pipy also reads characters that are written with too many bytes, and leaves out one that is cut off at the end: what it shows
// as a text would then not be what continues.

/** True if `data` is UTF-8; `text` is what Pipy reads it as. */
export function isUtf8(data, text) {
  if (text === undefined || text === null) return false
  // Each byte is a character.
  if (text.length === data.size) return true
  return areUtf8(new Data(data).toArray())
}

/** The same of a list of bytes. */
export function areUtf8(bytes) {
  var awaited = 0
  var low = 128
  var high = 191
  for (var i = 0; i < bytes.length; i = i + 1) {
    var byte = bytes[i]
    if (awaited > 0) {
      if (byte < low || byte > high) return false
      awaited = awaited - 1
      low = 128
      high = 191
    } else if (byte >= 128) {
      if (byte < 194 || byte > 244) return false
      awaited = byte < 224 ? 1 : byte < 240 ? 2 : 3
      low = byte === 224 ? 160 : byte === 240 ? 144 : 128
      high = byte === 237 ? 159 : byte === 244 ? 143 : 191
    }
  }
  return awaited === 0
}
