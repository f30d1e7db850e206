import { readFile } from 'node:fs/promises'
import { inspect } from 'node:util'

import { isOsmError, OsmError } from '@osm-ts/driver-api'
import type { CertificateErrorCode, Clock } from '@osm-ts/core'
import { isRecord } from '@osm-ts/driver-api/toolkit'

import type { VaultClient } from './vault-client.js'
import type { VaultAuth } from './vault-settings.js'

/** Share of its life after which a token is renewed. */
const RENEW_AFTER = 2 / 3
/** How long the content of a token file counts. */
const FILE_MS = 5_000
/** Tokens and secret ids are short. */
const MAX_SECRET_LENGTH = 16_384

interface HeldToken {
  readonly text: string
  /** When to renew it or to log in again; milliseconds since 1970. */
  readonly renewAt: number
  readonly expires: number
  readonly renewable: boolean
}

/** Has a token for Vault, and renews it before it expires. The token is in no string or inspection of the object. */
export class VaultSession {
  readonly #client: VaultClient
  readonly #auth: VaultAuth
  readonly #clock: Clock
  #held: HeldToken | undefined
  /** Requests that come together share one login. */
  #opening: Promise<string> | undefined

  constructor(client: VaultClient, auth: VaultAuth, clock: Clock) {
    this.#client = client
    this.#auth = auth
    this.#clock = clock
  }

  /**
   * A token that Vault accepts, as far as is known. Secret.
   *
   * @throws OsmError with a code of `OSM_CERT_PROVIDER_*`
   */
  token(signal: AbortSignal): Promise<string> {
    if (this.#held !== undefined && this.#clock.now() < this.#held.renewAt) return Promise.resolve(this.#held.text)
    this.#opening ??= this.#open(signal).finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  /** Vault does not accept the token any more: the next request logs in again. */
  reject(token: string): void {
    if (this.#held?.text === token) this.#held = undefined
  }

  [inspect.custom](): string {
    return `VaultSession ${this.#auth.kind}`
  }

  async #open(signal: AbortSignal): Promise<string> {
    const held = this.#held
    this.#held = (held === undefined ? undefined : await this.#renew(held, signal)) ?? (await this.#logIn(signal))
    return this.#held.text
  }

  async #renew(held: HeldToken, signal: AbortSignal): Promise<HeldToken | undefined> {
    if (!held.renewable || this.#clock.now() >= held.expires) return undefined
    try {
      const { auth } = await this.#client.json(
        { method: 'POST', path: 'auth/token/renew-self', body: {}, token: held.text },
        signal,
      )
      return this.#heldFrom(auth, held.text)
    } catch (error) {
      // Of a token that may not be renewed what is left is used, and then there is another login.
      if (isOsmError(error) && error.code === ('OSM_CERT_PROVIDER_REFUSED' satisfies CertificateErrorCode))
        return undefined
      throw error
    }
  }

  async #logIn(signal: AbortSignal): Promise<HeldToken> {
    const auth = this.#auth
    switch (auth.kind) {
      case 'tokenFile': {
        const text = await readSecretFile(auth.path, 'token file')
        const expires = Number.POSITIVE_INFINITY
        return { text, renewAt: this.#clock.now() + FILE_MS, expires, renewable: false }
      }
      case 'token':
        return this.#lookUp(checked(await auth.token(), 'token'), signal)
      case 'kubernetes': {
        const jwt = await readSecretFile(auth.tokenPath, 'token of the service account')
        return this.#postLogin(auth.mount, { role: auth.role, jwt }, signal)
      }
      case 'appRole': {
        const secret = checked(await auth.secretId(), 'secret id')
        return this.#postLogin(auth.mount, { role_id: auth.roleId, secret_id: secret }, signal)
      }
    }
  }

  /** How long a token from elsewhere lives. Policies may forbid the question; then it is used until Vault refuses it. */
  async #lookUp(text: string, signal: AbortSignal): Promise<HeldToken> {
    try {
      const { data } = await this.#client.json({ method: 'GET', path: 'auth/token/lookup-self', token: text }, signal)
      const { ttl, renewable } = isRecord(data) ? data : {}
      return this.#heldFor(text, typeof ttl === 'number' ? ttl : 0, renewable === true)
    } catch (error) {
      if (!isOsmError(error) || error.code !== ('OSM_CERT_PROVIDER_REFUSED' satisfies CertificateErrorCode)) throw error
      return this.#heldFor(text, 0, false)
    }
  }

  async #postLogin(mount: string, body: Readonly<Record<string, string>>, signal: AbortSignal): Promise<HeldToken> {
    const { auth } = await this.#client.json({ method: 'POST', path: `auth/${mount}/login`, body }, signal)
    return this.#heldFrom(auth, undefined)
  }

  #heldFrom(auth: unknown, otherwise: string | undefined): HeldToken {
    const { client_token: given, lease_duration: seconds, renewable } = isRecord(auth) ? auth : {}
    const text = typeof given === 'string' && given !== '' ? given : otherwise
    if (text === undefined) {
      const message = 'Vault answered a login without a token'
      throw new OsmError<CertificateErrorCode>('OSM_CERT_PROVIDER_UNAVAILABLE', message)
    }
    return this.#heldFor(text, typeof seconds === 'number' ? seconds : 0, renewable === true)
  }

  /** Zero seconds: it never expires, as a root token. */
  #heldFor(text: string, seconds: number, renewable: boolean): HeldToken {
    const now = this.#clock.now()
    if (seconds <= 0) return { text, renewAt: Number.POSITIVE_INFINITY, expires: Number.POSITIVE_INFINITY, renewable }
    return { text, renewAt: now + seconds * 1000 * RENEW_AFTER, expires: now + seconds * 1000, renewable }
  }
}

async function readSecretFile(path: string, what: string): Promise<string> {
  try {
    return checked(await readFile(path, 'utf8'), `${what} ${path}`)
  } catch (error) {
    if (isOsmError(error)) throw error
    const { code } = error as NodeJS.ErrnoException // of node:fs
    throw settings(`the ${what} ${path} cannot be read: ${code ?? 'no reason given'}`)
  }
}

/** A secret that can be a header's value. Never quoted. */
function checked(text: string, what: string): string {
  const secret = text.trim()
  if (secret !== '' && secret.length <= MAX_SECRET_LENGTH && /^[\x21-\x7e]+$/.test(secret)) return secret
  throw settings(`the ${what} for Vault is empty, too long, or has characters that no token has`)
}

function settings(message: string): OsmError {
  return new OsmError<CertificateErrorCode>('OSM_CERT_PROVIDER_SETTINGS', message)
}
