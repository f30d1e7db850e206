import { X509Certificate } from 'node:crypto'
import { get } from 'node:http'

import { certificatesOfDocument } from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'
import { errorMessage, isRecord } from '@osm-ts/driver-api/toolkit'

import type { JoinErrorCode } from './errors.js'

const PATH = '/metadata/attested/document?api-version=2021-02-01&nonce='
const TIMEOUT_MS = 5_000
const MAX_BYTES = 64 * 1024
/** Certificates between that of the signer and a root at most. */
const MAX_ISSUERS = 3

/** The metadata service of Azure, which says what a virtual machine is. It answers virtual machines only. */
export class AzureMetadata {
  readonly #url: URL

  constructor(url: URL) {
    this.#url = url
  }

  /**
   * A document that proves what this virtual machine is, PKCS#7 in base64.
   *
   * @param nonce - ten digits that it repeats
   * @throws OsmError with code `OSM_JOIN_AZURE`
   */
  async document(nonce: string, signal: AbortSignal): Promise<string> {
    const bytes = await fetchBytes(new URL(`${PATH}${nonce}`, this.#url), signal)
    try {
      const value: unknown = JSON.parse(bytes.toString('utf8'))
      if (isRecord(value) && typeof value.signature === 'string') return value.signature
    } catch {
      // Told below.
    }
    throw failure(`the metadata service at ${this.#url.host} sent no attested document`)
  }

  /**
   * The certificates of authorities between the signer of documents and a root, PEM: each names where that of its issuer is. The control plane verifies them.
   *
   * @throws OsmError with code `OSM_JOIN_AZURE`
   */
  async issuers(signal: AbortSignal): Promise<readonly string[]> {
    let [current, ...others] = certificatesOfDocument(await this.document('0'.repeat(10), signal))
    const issuers: string[] = []
    while (current !== undefined && issuers.length < MAX_ISSUERS) {
      const certificate: X509Certificate = current
      const known = others.find((each) => certificate.checkIssued(each))
      const url = issuerUrl(certificate)
      current = known ?? (url === undefined ? undefined : readCertificate(await fetchBytes(url, signal), url))
      others = others.filter((each) => each !== known)
      // A root adds nothing: the control plane has its own.
      if (current === undefined || current.checkIssued(current)) break
      issuers.push(current.toString())
    }
    return issuers
  }
}

/** Where the certificate of the issuer is, as a certificate says by its authority information access. */
function issuerUrl({ infoAccess = '' }: X509Certificate): URL | undefined {
  const line = infoAccess.split('\n').find((each) => each.startsWith('CA Issuers - URI:http://'))
  const text = line?.slice('CA Issuers - URI:'.length) ?? ''
  return URL.canParse(text) ? new URL(text) : undefined
}

function readCertificate(bytes: Buffer, url: URL): X509Certificate {
  try {
    return new X509Certificate(bytes)
  } catch (error) {
    throw failure(`${url.href} is not the certificate of an issuer: ${errorMessage(error)}; give it by --azure-issuers`)
  }
}

function fetchBytes(url: URL, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void =>
      reject(failure(`${url.origin} did not answer: ${errorMessage(error)}`, error))
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
    // The service refuses requests that a proxy has forwarded.
    get(url, { agent: false, headers: { metadata: 'true' }, signal: limit }, (response) => {
      const pieces: Buffer[] = []
      let size = 0
      response
        .on('data', (piece: Buffer) => {
          size += piece.length
          if (size > MAX_BYTES) response.destroy(new Error(`the answer is larger than ${MAX_BYTES} bytes`))
          else pieces.push(piece)
        })
        .once('error', fail)
        .once('end', () => {
          const { statusCode = 0 } = response
          if (statusCode === 200) resolve(Buffer.concat(pieces))
          else fail(new Error(`status ${statusCode}`))
        })
    }).once('error', fail)
  })
}

function failure(message: string, cause?: unknown): OsmError<JoinErrorCode> {
  return new OsmError('OSM_JOIN_AZURE', message, { cause })
}
