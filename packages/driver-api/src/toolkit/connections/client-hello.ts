/** Bytes before the content of a TLS record: its type, version and length. */
const HEADER_BYTES = 5
const HANDSHAKE = 0x16
const MAJOR_VERSION = 0x03
/** OpenSSL tells by so many bytes that a peer does not speak TLS. */
const BYTES_TO_REFUSE = 11

/**
 * Says whether a TLS server can answer the first bytes of a connection at once.
 *
 * True once the first record is complete, which is a ClientHello. Also true for a peer that does not speak TLS: its handshake fails at once, with a
 * reason. False while more bytes have to come.
 */
export function isAnswerable(first: readonly Buffer[]): boolean {
  const head = Buffer.concat(first.length === 1 ? first : headOf(first))
  const bytes = first.reduce((sum, { length }) => sum + length, 0)
  if (bytes >= 1 && head[0] !== HANDSHAKE) return bytes >= BYTES_TO_REFUSE
  if (bytes >= 2 && head[1] !== MAJOR_VERSION) return bytes >= BYTES_TO_REFUSE
  return bytes >= HEADER_BYTES && bytes >= HEADER_BYTES + head.readUInt16BE(3)
}

/** As many pieces as hold the header of a record. */
function headOf(pieces: readonly Buffer[]): readonly Buffer[] {
  let bytes = 0
  const end = pieces.findIndex(({ length }) => (bytes += length) >= HEADER_BYTES)
  return end < 0 ? pieces : pieces.slice(0, end + 1)
}
