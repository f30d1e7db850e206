import type { PartRef } from '@osm-ts/driver-api/policy'
import type { NamedCredentialRef } from '@osm-ts/driver-api/toolkit'

import { credentialKey, type CredentialNeed } from '../config/further-credentials.js'
import type { CredentialKey } from '../config/upstream-types.js'

/** Collects the credentials that a policy names besides the certificate of the proxy's own identity. */
export class CredentialNeeds {
  readonly #needs = new Map<CredentialKey, CredentialNeed>()

  /** Each once, sorted by key. */
  get list(): readonly CredentialNeed[] {
    return [...this.#needs.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  /** An element of a part names a credential, and is closed without it. */
  add(credential: NamedCredentialRef, ref: PartRef, pointer: string): CredentialKey {
    const key = credentialKey(credential)
    const users = this.#needs.get(key)?.users ?? []
    const isKnown = users.some((user) => user.ref.hash === ref.hash && user.pointer === pointer)
    if (!isKnown) this.#needs.set(key, { key, ref: credential, users: [...users, { ref, pointer }] })
    return key
  }
}
