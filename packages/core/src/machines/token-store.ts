import { newProxyUUID } from '../identity/index.js'
import { OsmError, type ProxyUUID } from '@osm-ts/driver-api'

import type { MachineErrorCode } from './errors.js'
import { isSecretOf, type JoinToken, type MachineGrant, type StoredToken, type TokenUse } from './join-token.js'

/** Where tokens are stored: no secret of a token is among them. */
export interface TokenStore {
  /** @throws OsmError with code `OSM_MACHINE_TOKENS` where {@link MAX_TOKENS} have not expired yet */
  add(token: StoredToken): Promise<void>
  read(id: string): Promise<StoredToken | undefined>
  /** Records who has used a token. Of many callers at one time, exactly one use is recorded; resolves to that one, or to undefined if the token is gone. */
  use(token: StoredToken, use: TokenUse): Promise<TokenUse | undefined>
}

/** Tokens that are stored at most, used ones included until they expire. */
export const MAX_TOKENS = 1_000
/** Milliseconds for which a token is valid at most. */
export const MAX_TOKEN_TTL_MS = 7 * 24 * 3_600_000

/** The virtual machine that a machine is. */
export interface AdmittedVirtualMachine {
  /** As its cloud names it. */
  readonly id: string
  /** Hash of the public key that it has joined with. */
  readonly key: string
}

/** What a proof admits, and the uuid of the sidecar. */
export interface Redeemed extends MachineGrant {
  readonly uuid: ProxyUUID
  /** Present if the proof was that of a cloud. */
  readonly virtualMachine?: AdmittedVirtualMachine
  /** What the same virtual machine took part as before. */
  readonly replaces?: ProxyUUID
}

/**
 * Uses up a token for a key. A machine that has lost the answer may ask again with the same key, and gets the same sidecar; another key gets nothing.
 *
 * @param key - hash of the public key, whose owner has proven to hold it
 * @throws OsmError with a code of `OSM_MACHINE_TOKEN*`
 */
export async function redeemToken(
  store: TokenStore,
  { id, secret }: Pick<JoinToken, 'id' | 'secret'>,
  { key, now }: { readonly key: string; readonly now: number },
): Promise<Redeemed> {
  const stored = await store.read(id)
  // One answer for both: callers without the secret do not learn which ids exist.
  if (stored === undefined || !isSecretOf(stored, secret)) throw refuse('OSM_MACHINE_TOKEN', 'is unknown')
  const { namespace, serviceAccount, labels, expiresAt } = stored
  if (now >= expiresAt) throw refuse('OSM_MACHINE_TOKEN_EXPIRED', `has expired at ${new Date(expiresAt).toISOString()}`)
  const use = stored.use ?? (await store.use(stored, { key, uuid: newProxyUUID() }))
  if (use === undefined) throw refuse('OSM_MACHINE_TOKEN', 'is unknown')
  if (use.key !== key)
    throw refuse(
      'OSM_MACHINE_TOKEN_USED',
      'was used before by another machine; if that was not you, remove that machine, and make another token',
    )
  return { namespace, serviceAccount, labels, uuid: use.uuid as ProxyUUID } // stored as it was made
}

function refuse(code: MachineErrorCode, what: string): OsmError<MachineErrorCode> {
  return new OsmError(code, `the join token ${what}`)
}
