import { isOsmError, OsmError } from '@osm-ts/driver-api'
import type { CertificateErrorCode, Clock, RemoteAuthority, SigningRequest } from '@osm-ts/core'
import { isRecord } from '@osm-ts/driver-api/toolkit'

import { VaultClient } from './vault-client.js'
import { VaultSession } from './vault-session.js'
import type { VaultSettings } from './vault-settings.js'

/** Characters of a common name that Vault accepts. */
const MAX_COMMON_NAME = 64

/** The PKI secrets engine of a Vault server. */
export class VaultAuthority implements RemoteAuthority {
  readonly name = 'vault'
  readonly #settings: VaultSettings
  readonly #client: VaultClient
  readonly #session: VaultSession

  constructor(settings: VaultSettings, clock: Clock) {
    this.#settings = settings
    this.#client = new VaultClient(settings)
    this.#session = new VaultSession(this.#client, settings.auth, clock)
  }

  async sign(request: SigningRequest, signal: AbortSignal): Promise<string> {
    const { mount, role } = this.#settings
    const answer = await this.#withToken(
      (token) =>
        this.#client.json({ method: 'POST', path: `${mount}/sign/${role}`, body: bodyOf(request), token }, signal),
      signal,
    )
    return chainOf(answer.data)
  }

  /** Both are open to everyone: a chain may lack the root, and an older server has no chain for a root that signs itself. */
  async caCertificates(signal: AbortSignal): Promise<string> {
    // Keeps a rarely used token alive.
    await this.#session.token(signal)
    const { mount } = this.#settings
    const chain = await this.#client.send({ method: 'GET', path: `${mount}/ca_chain` }, signal)
    const ca = await this.#client.send({ method: 'GET', path: `${mount}/ca/pem` }, signal)
    return `${chain.text}\n${ca.text}`
  }

  /** Closes connections. */
  close(): Promise<void> {
    return this.#client.close()
  }

  /** A token may have been revoked: one more attempt with another. */
  async #withToken<T>(work: (token: string) => Promise<T>, signal: AbortSignal): Promise<T> {
    const token = await this.#session.token(signal)
    try {
      return await work(token)
    } catch (error) {
      if (!isForbidden(error)) throw explained(error)
      this.#session.reject(token)
      const next = await this.#session.token(signal)
      if (next === token) throw explained(error)
      return await work(next).catch((again: unknown) => {
        throw explained(again)
      })
    }
  }
}

function bodyOf(request: SigningRequest): Readonly<Record<string, unknown>> {
  const { commonName, dnsNames, uris, ipAddresses, validityMs } = request
  const isHost = dnsNames.includes(commonName) && commonName.length <= MAX_COMMON_NAME
  return {
    csr: request.csr(),
    format: 'pem',
    ttl: `${Math.floor(validityMs / 1000)}s`,
    // A role may take names from the request, or from here.
    ...(isHost ? { common_name: commonName } : {}),
    alt_names: dnsNames.join(','),
    ...(uris.length > 0 ? { uri_sans: uris.join(',') } : {}),
    ...(ipAddresses.length > 0 ? { ip_sans: ipAddresses.join(',') } : {}),
    // It is among them already.
    exclude_cn_from_sans: true,
  }
}

function chainOf(data: unknown): string {
  const { certificate, issuing_ca: issuer, ca_chain: chain } = isRecord(data) ? data : {}
  const texts = [certificate, ...(Array.isArray(chain) && chain.length > 0 ? (chain as readonly unknown[]) : [issuer])]
  return texts
    .filter((text) => typeof text === 'string')
    .map((text) => `${text.trim()}\n`)
    .join('')
}

function isForbidden(error: unknown): boolean {
  return isOsmError(error) && error.details.status === 403
}

/** Adds which option of the role is missing, where that is what Vault complains about. */
function explained(error: unknown): unknown {
  if (!isOsmError(error) || error.code !== ('OSM_CERT_PROVIDER_REFUSED' satisfies CertificateErrorCode)) return error
  const [, hint] = HINTS.find(([pattern]) => pattern.test(error.message)) ?? []
  if (hint === undefined) return error
  return new OsmError<CertificateErrorCode>('OSM_CERT_PROVIDER_REFUSED', `${error.message}; ${hint}`, {
    details: error.details,
  })
}

const HINTS: readonly (readonly [RegExp, string])[] = [
  [/URI Subject Alternative Name|uri.?sans?/i, 'set allowed_uri_sans=spiffe://<trust domain>/* in the role'],
  [
    /common.?name.*(empty|required)|field is required/i,
    'set require_cn=false in the role: long names have no common name',
  ],
  [
    /not allowed by this role/i,
    'set allowed_domains to the trust domain and the cluster domain, and allow_subdomains=true, in the role',
  ],
  [/key type|role requires keys/i, 'set key_type=any in the role, or to that of spec.certificate.keyAlgorithm'],
  [/permission denied/i, 'the token, or the role of the login, needs the capability update on <mount>/sign/<role>'],
]
