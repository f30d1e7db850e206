import { X509Certificate } from 'node:crypto'

import { rootTexts } from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'

import type { BootstrapErrorCode } from '../error-codes.js'

/**
 * The certificates of CAs in a PEM text, each in its usual form.
 *
 * @param origin - names where the text came from
 * @throws OsmError with code `OSM_BOOTSTRAP_ROOT` or `OSM_CERT_ROOTS_BOUND`
 */
export function parseRoots(pem: string, origin: string): readonly string[] {
  const roots = rootTexts(pem, origin).map((text) => readRoot(text, origin))
  if (roots.length === 0) throw refuse(`${origin} contains no certificate in PEM`)
  return [...new Set(roots)]
}

function readRoot(text: string, origin: string): string {
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(text)
  } catch {
    throw refuse(`${origin} contains something that is not a certificate`)
  }
  if (!certificate.ca) throw refuse(`${origin} contains a certificate that is not a CA certificate`)
  return certificate.toString()
}

function refuse(message: string): OsmError {
  return new OsmError<BootstrapErrorCode>('OSM_BOOTSTRAP_ROOT', message)
}
