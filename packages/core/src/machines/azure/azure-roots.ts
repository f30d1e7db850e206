import { X509Certificate } from 'node:crypto'
import { rootCertificates } from 'node:tls'

import { OsmError } from '@osm-ts/driver-api'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { pemCertificates } from '../../certificates/certificate.js'
import type { MachineErrorCode } from '../errors.js'

/** Roots below which the metadata service of Azure has its certificates, by SHA-256 of each. Node.js comes with them. */
const PINNED: ReadonlySet<string> = new Set([
  // DigiCert Global Root G2
  'CB:3C:CB:B7:60:31:E5:E0:13:8F:8D:D3:9A:23:F9:DE:47:FF:C3:5E:43:C1:14:4C:EA:27:D4:6A:5A:B1:CB:5F',
  // Microsoft RSA Root Certificate Authority 2017
  'C7:41:F7:0F:4B:2A:8D:88:BF:2E:71:C1:41:22:EF:53:EF:10:EB:A0:CF:A5:E6:4C:FA:20:F4:18:85:30:73:E0',
])

/** Variable with other roots, PEM: for a cloud that has its own. */
export const AZURE_ROOTS_VARIABLE = 'OSM_MACHINE_AZURE_ROOTS'

/**
 * The roots that documents of Azure are verified by.
 *
 * @param text - PEM in place of those that are pinned here; empty: these
 * @throws OsmError with code `OSM_MACHINE_AZURE_ROOTS`
 */
export function azureRoots(text: string): readonly X509Certificate[] {
  if (text.trim() === '')
    return rootCertificates.map((pem) => new X509Certificate(pem)).filter((root) => PINNED.has(root.fingerprint256))
  const found = pemCertificates(text)
  try {
    const roots = found.map((pem) => new X509Certificate(pem))
    if (roots.length > 0 && roots.every(({ ca }) => ca)) return roots
  } catch (error) {
    throw invalid(errorMessage(error))
  }
  throw invalid(found.length === 0 ? 'it has none' : 'one of them is that of no authority')
}

function invalid(why: string): OsmError<MachineErrorCode> {
  return new OsmError('OSM_MACHINE_AZURE_ROOTS', `${AZURE_ROOTS_VARIABLE}: expected certificates in PEM: ${why}`)
}
