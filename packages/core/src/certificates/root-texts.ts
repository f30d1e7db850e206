import { OsmError } from '@osm-ts/driver-api'

import { pemCertificates } from './certificate.js'
import type { CertificateErrorCode } from './errors.js'

/** Certificates of one bundle of roots. Every sidecar has all of them, and reads them for each connection. */
const MAX_ROOTS = 16
const MAX_BYTES = 200_000

/**
 * The certificates in a bundle of roots, PEM, each once. Bounds are checked on the text: reading a certificate takes a fifth of a millisecond, and a Secret has room for
 * thousands.
 *
 * @param origin - names where the text came from
 * @throws OsmError with code `OSM_CERT_ROOTS_BOUND`
 */
export function rootTexts(pem: string, origin: string): readonly string[] {
  const texts = [...new Set(pemCertificates(pem.replaceAll('\r', '')))]
  if (texts.length > MAX_ROOTS)
    throw beyond(`${origin}: has ${texts.length} certificates, at most ${MAX_ROOTS} are accepted`)
  const bytes = texts.reduce((sum, text) => sum + text.length, 0)
  if (bytes > MAX_BYTES)
    throw beyond(`${origin}: its certificates have ${bytes} bytes, at most ${MAX_BYTES} are accepted`)
  return texts
}

function beyond(message: string): OsmError {
  return new OsmError<CertificateErrorCode>('OSM_CERT_ROOTS_BOUND', `${message}; remove roots that no longer sign`)
}
