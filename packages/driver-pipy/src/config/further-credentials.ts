import type { Credential, PartRef, SecretCredentialRef } from '@osm-ts/driver-api'

import type { CredentialKey, FurtherCredential } from './types.js'

/** A credential besides the sidecar's own that a policy names. */
export interface CredentialNeed {
  readonly key: CredentialKey
  readonly ref: SecretCredentialRef
  /** What is closed without it: elements of parts. */
  readonly users: readonly { readonly ref: PartRef; readonly pointer: string }[]
}

/** Credentials that are to be had. */
export type CredentialsByKey = ReadonlyMap<CredentialKey, Credential>

/** Key of a reference: equal for equal ones, and no secret. Names of Kubernetes hold no slash. */
export function credentialKey({ kind, namespace, name }: SecretCredentialRef): CredentialKey {
  return `${kind}/${namespace}/${name}`
}

/** What of the needed credentials is to be had, in the form in which it travels. Never more than what is needed. */
export function byKey(
  needs: readonly CredentialNeed[],
  further: CredentialsByKey,
): Readonly<Record<CredentialKey, FurtherCredential>> {
  const found = needs.flatMap(({ key }): readonly (readonly [CredentialKey, FurtherCredential])[] => {
    const credential = further.get(key)
    if (credential === undefined) return []
    const { chain, privateKey, roots = [] } = credential
    return [[key, { chain, key: privateKey, roots }]]
  })
  return Object.fromEntries(found)
}
