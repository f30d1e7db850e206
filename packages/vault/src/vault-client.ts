import { isOsmError, OsmError } from '@osm-ts/driver-api'
import type { CertificateErrorCode } from '@osm-ts/core'
import { isRecord } from '@osm-ts/driver-api/toolkit'
import { Pool } from 'undici'

import type { VaultSettings } from './vault-settings.js'

/** A question for Vault. */
export interface VaultRequest {
  readonly method: 'GET' | 'POST'
  /** After `/v1/`. */
  readonly path: string
  readonly body?: Readonly<Record<string, unknown>>
  readonly token?: string
}

/** An answer that was no error. */
export interface VaultAnswer {
  readonly status: number
  readonly text: string
}

/** A chain of certificates has a few kilobytes. */
const MAX_ANSWER_BYTES = 1_000_000
const MAX_REASON = 300
const TIMEOUT_MS = 20_000
/** Requests that Vault works on at a time. */
const CONNECTIONS = 8

/** The HTTP API of a Vault server. */
export class VaultClient {
  readonly #settings: Pick<VaultSettings, 'origin' | 'namespace'>
  readonly #pool: Pool

  constructor({ origin, namespace, ca }: Pick<VaultSettings, 'origin' | 'namespace' | 'ca'>) {
    this.#settings = namespace === undefined ? { origin } : { origin, namespace }
    this.#pool = new Pool(origin, {
      connections: CONNECTIONS,
      connect: { timeout: TIMEOUT_MS, ...(ca === undefined ? {} : { ca }) },
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
      keepAliveTimeout: 10_000,
    })
  }

  /**
   * @throws OsmError with code `OSM_CERT_PROVIDER_REFUSED` for an answer that says no, and `OSM_CERT_PROVIDER_UNAVAILABLE` for any other failure. `details.status`
   * is the HTTP status, if there is one. No error holds a secret of the request.
   */
  async send({ method, path, body, token }: VaultRequest, signal: AbortSignal): Promise<VaultAnswer> {
    const { origin, namespace } = this.#settings
    try {
      const answer = await this.#pool.request({
        method,
        path: `/v1/${path}`,
        headers: {
          'x-vault-request': 'true',
          ...(token === undefined ? {} : { 'x-vault-token': token }),
          ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal,
      })
      const { statusCode: status } = answer
      const text = await bounded(answer.body)
      if (status >= 200 && status < 300) return { status, text }
      throw statusError(status, `${method} ${origin}/v1/${path}`, text, secretsOf(body, token))
    } catch (error) {
      if (isOsmError(error)) throw error
      signal.throwIfAborted()
      throw unavailable(`Vault at ${origin} does not answer: ${codeOf(error)}`)
    }
  }

  /** As {@link send}; the answer as JSON. */
  async json(request: VaultRequest, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    const { text } = await this.send(request, signal)
    try {
      const value: unknown = JSON.parse(text)
      if (isRecord(value)) return value
    } catch {
      // Told below, without what could not be read: it may hold a token.
    }
    throw unavailable(
      `the answer of ${this.#settings.origin}/v1/${request.path} is not a JSON object; is this a Vault server?`,
    )
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }
}

async function bounded(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > MAX_ANSWER_BYTES) throw unavailable(`an answer of Vault has more than ${MAX_ANSWER_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** 429 is a quota, 5xx a server that is sealed, starting, or broken, 3xx a standby that does not forward. All others are Vault's answer to this request. */
function statusError(status: number, what: string, text: string, secrets: readonly string[]): OsmError {
  const isRefusal = status >= 400 && status < 500 && status !== 429
  const code: CertificateErrorCode = isRefusal ? 'OSM_CERT_PROVIDER_REFUSED' : 'OSM_CERT_PROVIDER_UNAVAILABLE'
  const reason = withoutSecrets(reasonOf(status, text), secrets)
  return new OsmError<CertificateErrorCode>(code, `${what}: HTTP ${status}: ${reason}`, { details: { status } })
}

function reasonOf(status: number, text: string): string {
  if (status >= 300 && status < 400)
    return 'a standby server does not forward requests; name the active one, or the load balancer'
  try {
    const value: unknown = JSON.parse(text)
    const errors: unknown = isRecord(value) ? value.errors : undefined
    if (Array.isArray(errors) && errors.length > 0) return errors.map(String).join('; ').replaceAll(/\s+/g, ' ')
  } catch {
    // An answer of a proxy in between says nothing that Vault's would.
  }
  return 'no reason given'
}

/** Vault repeats no secrets; a proxy in between may. */
function withoutSecrets(reason: string, secrets: readonly string[]): string {
  const redacted = secrets.reduce((text, secret) => text.replaceAll(secret, '[redacted]'), reason)
  return redacted.length > MAX_REASON ? `${redacted.slice(0, MAX_REASON)}…` : redacted
}

function secretsOf(body: Readonly<Record<string, unknown>> | undefined, token: string | undefined): readonly string[] {
  const values = [token, body?.jwt, body?.secret_id]
  return values.filter((value): value is string => typeof value === 'string' && value !== '')
}

/** The message of a library's error could quote headers. */
function codeOf(error: unknown): string {
  return isRecord(error) && typeof error.code === 'string' ? error.code : 'connection failed'
}

function unavailable(message: string): OsmError {
  return new OsmError<CertificateErrorCode>('OSM_CERT_PROVIDER_UNAVAILABLE', message)
}
