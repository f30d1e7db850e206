// Whom the certificate of a server outside the mesh names.

/**
 * True if one of the expected names, or addresses, is in a certificate.
 *
 * @param certificate - `{ names, bytes() }`: its DNS names, and what gives it in DER
 * @param expected - `{ names, addresses }`: in lower case; octets in hexadecimal
 */
export function holdsName(certificate, expected) {
  var names = certificate.names.map((name) => ('' + name).toLowerCase())
  if (expected.names.some((name) => names.some((pattern) => namesHost(pattern, name)))) return true
  if (expected.addresses.length === 0) return false
  var held = addressesIn(certificate.bytes())
  return expected.addresses.some((address) => held.includes(address))
}

// A pattern stands for one label, the first, and only as a whole (RFC 6125, section 6.4.3).
function namesHost(pattern, name) {
  if (pattern === name) return pattern !== ''
  if (!pattern.startsWith('*.') || pattern.indexOf('.', 2) < 0) return false
  var dot = name.indexOf('.')
  return dot > 0 && name.substring(dot) === pattern.substring(1)
}

/** IP addresses among the subject alternative names of a certificate in DER, as bytes in hexadecimal. */
export function addressesIn(bytes) {
  var certificate = elementsOf(bytes, { from: 0, to: bytes.length })[0]
  var body = certificate ? elementsOf(bytes, certificate)[0] : undefined
  // `extensions [3]`
  var wrapped = body ? elementsOf(bytes, body).find((element) => element.tag === 0xa3) : undefined
  var list = wrapped ? elementsOf(bytes, wrapped)[0] : undefined
  var extensions = list ? elementsOf(bytes, list).map((extension) => elementsOf(bytes, extension)) : []
  var names = extensions.find((parts) => parts[0] && hexOf(bytes, parts[0]) === '551d11')
  var value = names ? elementsOf(bytes, names[names.length - 1])[0] : undefined
  // `iPAddress [7]`
  return (value ? elementsOf(bytes, value) : [])
    .filter((element) => element.tag === 0x87)
    .map((element) => hexOf(bytes, element))
}

// The elements in a range of bytes: a tag, and the range of what is in it. What is not whole is left out.
function elementsOf(bytes, range) {
  var elements = []
  var at = range.from
  for (var i = 0; at + 2 <= range.to; i = i + 1) {
    var tag = bytes[at]
    var length = bytes[at + 1]
    at = at + 2
    if (length > 0x84 || length === 0x80) return elements
    if (length > 0x80) {
      var count = length - 0x80
      if (at + count > range.to) return elements
      length = 0
      for (var j = 0; j < count; j = j + 1) length = length * 256 + bytes[at + j]
      at = at + count
    }
    if (at + length > range.to) return elements
    elements.push({ tag, from: at, to: at + length })
    at = at + length
  }
  return elements
}

var digits = '0123456789abcdef'

function hexOf(bytes, range) {
  var text = ''
  for (var i = range.from; i < range.to; i = i + 1) {
    text = text + digits.charAt(bytes[i] >> 4) + digits.charAt(bytes[i] & 15)
  }
  return text
}
