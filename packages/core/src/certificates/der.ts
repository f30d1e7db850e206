/**
 * The writer of DER (X.690) for the parts of a certificate that differ from one to the next; constant parts are made
 * once, elsewhere.
 */

/** Identifier octets of the types that certificates use. */
export const tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** One element: identifier, length in the shortest form, and the given pieces of content in a row. */
export function tlv(identifier: number, ...content: readonly Uint8Array[]): Buffer {
  let length = 0
  for (const piece of content) length += piece.length
  const lengthOctets = length < 0x80 ? 0 : length < 0x100 ? 1 : length < 0x10000 ? 2 : 3
  if (length >= 0x1000000) throw new RangeError('an element of 16 MiB or more has no place in a certificate')
  const element = Buffer.allocUnsafe(2 + lengthOctets + length)
  element[0] = identifier
  let at = 2
  if (lengthOctets === 0) {
    element[1] = length
  } else {
    element[1] = 0x80 | lengthOctets
    at = element.writeUIntBE(length, 2, lengthOctets)
  }
  for (const piece of content) {
    element.set(piece, at)
    at += piece.length
  }
  return element
}

/** A non-negative INTEGER from its big-endian octets, in the shortest form. */
export function unsignedInteger(octets: Uint8Array): Buffer {
  let start = 0
  while (start < octets.length - 1 && octets[start] === 0) start += 1
  const magnitude = octets.subarray(start)
  return (magnitude[0] ?? 0) >= 0x80 || magnitude.length === 0
    ? tlv(tag.integer, Uint8Array.of(0), magnitude)
    : tlv(tag.integer, magnitude)
}

/** A BIT STRING of whole octets. */
export function bitString(octets: Uint8Array): Buffer {
  return tlv(tag.bitString, Uint8Array.of(0), octets)
}

/** A UTF8String. */
export function utf8String(text: string): Buffer {
  return tlv(tag.utf8String, Buffer.from(text))
}

/**
 * A time, cut to whole seconds: UTCTime up to 2049, GeneralizedTime from then on, as RFC 5280 §4.1.2.5 asks.
 *
 * @param time - milliseconds since 1970, in the years 1950 to 9999
 */
export function time(time: number): Buffer {
  const digits = `${new Date(time).toISOString().slice(0, 19).replace(/\D/g, '')}Z`
  return digits < '2050' && digits >= '1950'
    ? tlv(tag.utcTime, Buffer.from(digits.slice(2), 'latin1'))
    : tlv(tag.generalizedTime, Buffer.from(digits, 'latin1'))
}

/** PEM (RFC 7468) with lines of 64 characters. */
export function pem(label: string, der: Buffer): string {
  const base64 = der.toString('base64')
  let lines = ''
  for (let at = 0; at < base64.length; at += 64) lines += `${base64.slice(at, at + 64)}\n`
  return `-----BEGIN ${label}-----\n${lines}-----END ${label}-----\n`
}
