import type { Credential, PartLookup, ProxyPart, Refusal } from '@osm-ts/driver-api'

import { type EncodedDocument, encodeDocument } from './config/document.js'
import { translate } from './translate/translate.js'

/** What a worker is to do by its policy. Holds no secret. */
export interface PolicyDocument {
  /** What of the policy Pipy can't do, and the document therefore closes. */
  readonly refusals: readonly Refusal[]
  /** As anybody may see it. */
  plain(): EncodedDocument
  /** With the certificate of the worker's own identity, private key included: for that worker alone, never kept where others look. */
  with(credential: Credential): EncodedDocument
}

/**
 * Makes the document of a policy, every part of which is there. Pure: equal policies give equal bytes on every replica.
 *
 * What it throws says what is wrong with the policy; the last good document then stays in force.
 */
export type DocumentMaker = (proxy: ProxyPart, parts: PartLookup) => PolicyDocument

/** Makes the documents that the codebase of this package reads. */
export const makeDocument: DocumentMaker = (proxy, parts) => {
  const { config, refusals } = translate(proxy, parts)
  return {
    refusals,
    plain: () => encodeDocument(config),
    with: ({ chain, privateKey }) => encodeDocument(config, { chain, key: privateKey }),
  }
}
