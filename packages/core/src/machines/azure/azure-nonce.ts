/** A TLS connection, at either end. */
export interface KeyExporter {
  /** RFC 5705: bytes that only the two ends of a connection know. */
  exportKeyingMaterial(length: number, label: string, context: Buffer): Buffer
}

const LABEL = 'EXPERIMENTAL-osm-machines-azure'
/** Azure takes so many digits. */
const DIGITS = 10

/**
 * What a document of Azure has to repeat, so that it proves something for one connection and one key only. Both ends compute it, and neither decides it alone.
 *
 * @param key - hash of the public key of the machine
 */
export function azureNonce(connection: KeyExporter, key: string): string {
  const bytes = connection.exportKeyingMaterial(16, LABEL, Buffer.from(key, 'latin1'))
  const number = BigInt(`0x${bytes.toString('hex')}`) % 10n ** BigInt(DIGITS)
  return number.toString().padStart(DIGITS, '0')
}
