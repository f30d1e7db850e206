import type { Credential } from '@osm-ts/driver-api'
import type { PartRef } from '@osm-ts/driver-api/policy'
import type { NamedCredentialRef } from '@osm-ts/driver-api/toolkit'

import type { FurtherCredential } from './types.js'
import type { CredentialKey } from './upstream-types.js'

/** A credential besides the sidecar's own that a policy names. */
export interface CredentialNeed {
  readonly key: CredentialKey
  readonly ref: NamedCredentialRef
  /** What is closed without it: elements of parts. */
  readonly users: readonly { readonly ref: PartRef; readonly pointer: string }[]
}

/** Credentials that are to be had. */
export type CredentialsByKey = ReadonlyMap<CredentialKey, Credential>

/** Key of a reference: equal for equal ones, and no secret. Names of Kubernetes hold no slash. */
export function credentialKey(ref: NamedCredentialRef): CredentialKey {
  return ref.kind === 'secret' ? `secret/${ref.namespace}/${ref.name}` : `${ref.kind}/${ref.name}`
}

/** What of the needed credentials is to be had, in the form in which it travels. Never more than what is needed. */
export function byKey(
  needs: readonly CredentialNeed[],
  further: CredentialsByKey,
): Readonly<Record<CredentialKey, FurtherCredential>> {
  const found = needs.flatMap(({ key }): readonly (readonly [CredentialKey, FurtherCredential])[] => {
    const credential = further.get(key)
    if (credential === undefined) return []
    const { chain, privateKey, roots = [], headerValue } = credential
    return [[key, headerValue === undefined ? { chain, key: privateKey, roots } : { headerValue }]]
  })
  return Object.fromEntries(found)
}
