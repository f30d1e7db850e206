import type { Credential } from '@osm-ts/driver-api'
import type { PartLookup, ProxyPart, Refusal } from '@osm-ts/driver-api/policy'

import { EncodedConfig, type EncodedDocument } from './config/document.js'
import { byKey, type CredentialNeed, type CredentialsByKey } from './config/further-credentials.js'
import { RegexTables } from './translate/policy-reader.js'
import { translate } from './translate/translate.js'

/** What a worker is to do by its policy. Holds no secret. */
export interface PolicyDocument {
  /** What of the policy Pipy can't do, and the document therefore closes. */
  readonly refusals: readonly Refusal[]
  /** What the policy names besides the certificate of the worker's own identity. */
  readonly needs: readonly CredentialNeed[]
  /** As anybody may see it. */
  plain(): EncodedDocument
  /**
   * With the certificate of the worker's own identity, and its private key unless the worker has it: for that worker alone, never kept where others look.
   *
   * @param further - what is to be had of {@link needs}; the document closes what needs another
   */
  with(credential: Credential, further: CredentialsByKey): EncodedDocument
}

/**
 * Makes the document of a policy, every part of which is there. Pure: equal policies give equal bytes on every replica.
 *
 * What it throws says what is wrong with the policy; the last good document then stays in force.
 */
export type DocumentMaker = (proxy: ProxyPart, parts: PartLookup) => PolicyDocument

/** Makes the documents that the codebase of this package reads; what proxies have in common is made for all of them. */
export function documentMaker(): DocumentMaker {
  const regexes = new RegexTables()
  return (proxy, parts) => {
    const { config, refusals, needs } = translate(proxy, parts, regexes)
    const encoded = new EncodedConfig(config)
    return {
      refusals,
      needs,
      plain: () => encoded.plain,
      with: ({ chain, privateKey, key }, further) =>
        encoded.with({
          chain,
          ...(key === 'proxy' ? {} : { key: privateKey }),
          ...furtherMember(byKey(needs, further)),
        }),
    }
  }
}

function furtherMember(further: ReturnType<typeof byKey>) {
  return Object.keys(further).length === 0 ? {} : { further }
}
