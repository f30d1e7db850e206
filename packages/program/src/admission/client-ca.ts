import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'

import { OsmError } from '@osm-ts/driver-api'
import { pemCertificates } from '@osm-ts/core'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { AdmissionErrorCode } from '../error-codes.js'

/**
 * The certificates of the CA that anyone who calls a webhook has to be known by, PEM; undefined where no file is named.
 *
 * @throws OsmError with code `OSM_ADMISSION_CLIENT_CA`
 */
export async function readClientCa(path: string): Promise<string | undefined> {
  if (path === '') return undefined
  try {
    const certificates = pemCertificates(await readFile(path, 'utf8'))
    if (certificates.length === 0) throw new Error('it contains no certificate in PEM')
    return certificates.map((pem) => new X509Certificate(pem).toString()).join('')
  } catch (error) {
    const reason = errorMessage(error)
    throw new OsmError<AdmissionErrorCode>(
      'OSM_ADMISSION_CLIENT_CA',
      `the file of --webhook-client-ca, ${path}, cannot be used: ${reason}`,
      { cause: error },
    )
  }
}
