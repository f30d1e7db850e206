import { X509Certificate } from 'node:crypto'

import { OsmError } from '@osm-ts/driver-api'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { isPlainObject } from '../../spec/shape.js'
import type { MachineErrorCode } from '../errors.js'
import { verifyPath } from './certificate-path.js'
import { readSignedData, signingCertificate } from './signed-data.js'

/** A document of Azure's metadata service by which a virtual machine proves what it is. */
export interface AttestedDocument {
  /** PKCS#7 in base64. */
  readonly document: string
  /** Certificates of authorities between the signer and a root, PEM. The document itself has only that of the signer. */
  readonly issuers: readonly string[]
}

/** What a document is checked against. */
export interface AttestationRules {
  readonly roots: readonly X509Certificate[]
  /** What the document has to repeat, see `azureNonce`. */
  readonly nonce: string
  /** Milliseconds since 1970. */
  readonly now: number
}

/** The virtual machine that a document speaks of. Both are GUIDs in lower case. */
export interface AttestedVirtualMachine {
  readonly subscription: string
  readonly id: string
}

interface Statement extends AttestedVirtualMachine {
  readonly nonce: string
  readonly createdAt: number
  readonly expiresAt: number
}

/** Name of the service that signs: it has one in each cloud of Azure, and one below that in each region. */
const SIGNER = /^DNS:(?:[a-z0-9*-]{1,63}\.)?metadata\.azure\.(?:com|us|cn)$/
const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const TIME = /^(\d\d)\/(\d\d)\/(\d\d) (\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)$/
/** The clock of Azure may be ahead by this much. */
const SKEW_MS = 5 * 60_000

/**
 * Verifies a document: who has signed it, that it was made for this connection, and that it is valid now.
 *
 * @throws OsmError with code `OSM_MACHINE_AZURE`, `OSM_MACHINE_AZURE_EXPIRED` or `OSM_MACHINE_AZURE_REPLAYED`
 */
export function verifyAttestedDocument(
  { document, issuers }: AttestedDocument,
  { roots, nonce, now }: AttestationRules,
): AttestedVirtualMachine {
  const statement = signedStatement(document, issuers, roots, now)
  const { subscription, id, createdAt, expiresAt } = statement
  if (now >= expiresAt || createdAt > now + SKEW_MS)
    throw refuse(
      'OSM_MACHINE_AZURE_EXPIRED',
      `is valid from ${new Date(createdAt).toISOString()} to ${new Date(expiresAt).toISOString()}`,
    )
  if (statement.nonce !== nonce)
    throw refuse('OSM_MACHINE_AZURE_REPLAYED', 'was made for another connection or another key')
  return { subscription, id }
}

/** Certificates of the signer that came with a document. Nothing of it is verified. */
export function certificatesOfDocument(document: string): readonly X509Certificate[] {
  try {
    return readSignedData(Buffer.from(document, 'base64')).certificates
  } catch (error) {
    throw refuse('OSM_MACHINE_AZURE', `cannot be read: ${errorMessage(error)}`)
  }
}

function signedStatement(
  document: string,
  issuers: readonly string[],
  roots: readonly X509Certificate[],
  now: number,
): Statement {
  try {
    const message = readSignedData(Buffer.from(document, 'base64'))
    const signer = signingCertificate(message)
    if (!isOfAzure(signer)) throw new Error('the signer is not the metadata service of Azure')
    const intermediates = [...message.certificates, ...issuers.map((pem) => new X509Certificate(pem))]
    verifyPath(signer, { intermediates, roots, now })
    return readStatement(message.content)
  } catch (error) {
    throw refuse('OSM_MACHINE_AZURE', `is refused: ${errorMessage(error)}`)
  }
}

function isOfAzure({ subjectAltName = '' }: X509Certificate): boolean {
  // Node.js quotes a name that would look like several.
  return !subjectAltName.includes('"') && subjectAltName.split(', ').some((name) => SIGNER.test(name))
}

function readStatement(content: Buffer): Statement {
  const value: unknown = JSON.parse(content.toString('utf8'))
  if (!isPlainObject(value) || !isPlainObject(value.timeStamp)) throw new Error('it has no timeStamp')
  const { nonce, vmId, subscriptionId, timeStamp } = value
  if (typeof nonce !== 'string') throw new Error('it has no nonce')
  return {
    nonce,
    id: guidOf('vmId', vmId),
    subscription: guidOf('subscriptionId', subscriptionId),
    createdAt: timeOf('timeStamp.createdOn', timeStamp.createdOn),
    expiresAt: timeOf('timeStamp.expiresOn', timeStamp.expiresOn),
  }
}

function guidOf(field: string, value: unknown): string {
  if (typeof value === 'string' && GUID.test(value)) return value.toLowerCase()
  throw new Error(`${field}: expected a GUID`)
}

function timeOf(field: string, value: unknown): number {
  const [, month, day, year, hour, minute, second, sign, ahead, by] =
    TIME.exec(typeof value === 'string' ? value : '') ?? []
  if (year !== undefined) {
    const time = Date.parse(`20${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
    const offset = (Number(ahead) * 60 + Number(by)) * 60_000
    if (!Number.isNaN(time)) return sign === '-' ? time + offset : time - offset
  }
  throw new Error(`${field}: expected a time, such as 11/28/26 00:16:17 -0000`)
}

function refuse(code: MachineErrorCode, what: string): OsmError<MachineErrorCode> {
  return new OsmError(code, `the attested document of Azure ${what}`)
}
