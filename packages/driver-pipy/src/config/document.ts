import { createHash } from 'node:crypto'

import { canonicalJson } from '@osm-ts/driver-api'

import type { PipyConfig, PipyCredentials, PipyDocument } from './types.js'

/** A document as it travels, with the revision that stands in it. */
export interface EncodedDocument {
  /** Content hash of all that the document says; what the sidecar acknowledges. */
  readonly revision: string
  /** Holds a private key where credentials were given: never logged, never on a debug page. */
  readonly body: string
}

/** Encodes what one sidecar is to do. Equal input gives equal bytes, on every replica. */
export function encodeDocument(config: PipyConfig, credentials?: PipyCredentials): EncodedDocument {
  const content = credentials === undefined ? config : { ...config, credentials }
  // 192 bits, as for parts of policies.
  const revision = createHash('sha256').update(canonicalJson(content)).digest().subarray(0, 24).toString('base64url')
  const document: PipyDocument = { ...content, revision }
  return { revision, body: canonicalJson(document) }
}
