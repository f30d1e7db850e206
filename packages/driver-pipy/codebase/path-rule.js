// The path rule of the mesh: who decides and who answers must read the same path, so what two readers could read differently is refused.

import { makeMemo, recall } from './memo.js'
import { areUtf8 } from './utf8.js'

// Envoy takes none either: clients have to escape them (RFC 3986).
var notAscii = new RegExp('[^\\x01-\\x7f]')

var keeping = makeMemo(500, 256)
var refusing = makeMemo(500, 256)

/**
 * The path that is decided on and forwarded: runs of slashes are one. Undefined for a path that is refused: dot segments, with parameters or escapes
 * too; escaped slashes, backslashes and NUL; `#`; nothing but slashes; what is not ASCII, in the query too; and what does not decode to UTF-8.
 *
 * With `keepsEscapedSlashes` an escaped slash or backslash is no reason to refuse. `readings` are what an application may take such a path for: with
 * slashes in their place, and in that, one slash for each run.
 */
export function acceptedPath(text, keepsEscapedSlashes) {
  var cut = text.indexOf('?')
  var query = cut < 0 ? '' : text.substring(cut)
  if (query !== '' && (query.includes('#') || notAscii.test(query))) return undefined
  var path = cut < 0 ? text : text.substring(0, cut)
  var found = keepsEscapedSlashes ? recall(keeping, path, readKeeping) : recall(refusing, path, readRefusing)
  return found.path === undefined ? undefined : { path: found.path, query, readings: found.readings }
}

function readKeeping(path) {
  return read(path, true)
}

function readRefusing(path) {
  return read(path, false)
}

// What is decided on a path without its query: an object without a path where it is refused.
function read(path, keepsEscapedSlashes) {
  var refused = { path: undefined }
  if (!path.startsWith('/') || path.includes('#') || path.includes('\\') || notAscii.test(path) || !isReadable(path))
    return refused
  if (path.length > 1 && path.split('/').every((segment) => segment === '')) return refused
  var merged = withoutRuns(path)
  var plain = withPlainSlashes(merged)
  if (plain !== merged && !keepsEscapedSlashes) return refused
  if (plain.split('/').some(isAmbiguous)) return refused
  return { path: merged, readings: plain === merged ? [] : [plain, withoutRuns(plain)] }
}

/** True for a path with an escaped slash or backslash. */
export function hasEscapedSlash(text) {
  var path = text.split('?')[0]
  return path !== withPlainSlashes(path)
}

function withPlainSlashes(path) {
  return path.replaceAll('%2f', '/').replaceAll('%2F', '/').replaceAll('%5c', '/').replaceAll('%5C', '/')
}

/** A path with one slash for each run of them. */
export function withoutRuns(path) {
  var merged = path
  for (var i = 0; merged.includes('//'); i = i + 1) merged = merged.replaceAll('//', '/')
  return merged
}

// Some servers take `..;a=b` for `..`.
function isAmbiguous(segment) {
  var low = segment.toLowerCase()
  if (low.includes('%00')) return true
  var name = low.replaceAll('%3b', ';').split(';')[0].replaceAll('%2e', '.')
  return name === '.' || name === '..'
}

// True if the characters are printable and the escaped bytes are UTF-8 (RFC 3629, section 4).
function isReadable(path) {
  var bytes = []
  for (var i = 0; i < path.length; i = i + 1) {
    var byte = path.charCodeAt(i)
    if (byte < 33 || byte === 127) return false
    if (byte === 37) {
      byte = hexValue(path.charCodeAt(i + 1)) * 16 + hexValue(path.charCodeAt(i + 2))
      if (!(byte >= 0)) return false
      i = i + 2
    }
    bytes.push(byte)
  }
  return areUtf8(bytes)
}

// A digit of a hexadecimal number; a large negative number for anything else, so that no sum with it is a byte.
function hexValue(code) {
  if (code >= 48 && code <= 57) return code - 48
  if (code >= 65 && code <= 70) return code - 55
  if (code >= 97 && code <= 102) return code - 87
  return -10000
}
