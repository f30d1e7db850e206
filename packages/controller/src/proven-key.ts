import type { MachineErrorCode } from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'
import { proveKey } from '@osm-ts/kubernetes'

const PEM = /^-----BEGIN CERTIFICATE REQUEST-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END CERTIFICATE REQUEST-----\s*$/

/**
 * The key that has signed a request for a certificate, which asks for nothing else.
 *
 * @param csr - PKCS#10 in PEM
 * @returns SubjectPublicKeyInfo in DER
 * @throws OsmError with code `OSM_MACHINE_KEY`
 */
export function provenKey(csr: string): Buffer {
  const [, base64] = PEM.exec(csr) ?? []
  if (base64 === undefined) throw refuse('csr: expected one PKCS#10 request in PEM')
  const key = proveKey({ form: 'request', request: Buffer.from(base64, 'base64') }, '')
  if (Buffer.isBuffer(key)) return key
  throw refuse(`csr: ${key.message}`)
}

function refuse(message: string): OsmError<MachineErrorCode> {
  return new OsmError<MachineErrorCode>('OSM_MACHINE_KEY', message)
}
