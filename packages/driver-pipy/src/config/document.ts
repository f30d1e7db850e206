import { createHash } from 'node:crypto'

import { canonicalJson } from '@osm-ts/driver-api/policy'

import type { PipyConfig, PipyCredentials } from './types.js'

/** A document as it travels, with the revision that is in it. */
export interface EncodedDocument {
  /** Content hash of all that the document says; what the sidecar acknowledges. */
  readonly revision: string
  /** Holds a private key where credentials were given: never logged, never on a debug page. */
  readonly body: string
}

/** A configuration whose members are text already: most of a document is the same with every certificate, and with none. */
export class EncodedConfig {
  /** JSON of each member by its name. */
  readonly #members: ReadonlyMap<string, string>
  #plain: EncodedDocument | undefined

  constructor(config: PipyConfig) {
    this.#members = new Map(
      Object.entries(config).flatMap(([name, value]) => (value === undefined ? [] : [[name, canonicalJson(value)]])),
    )
  }

  /** What anybody may see. */
  get plain(): EncodedDocument {
    this.#plain ??= this.with()
    return this.#plain
  }

  /** What one sidecar is to do. Equal input gives equal bytes, on every replica. */
  with(credentials?: PipyCredentials): EncodedDocument {
    const members = new Map(this.#members)
    if (credentials !== undefined) members.set('credentials', canonicalJson(credentials))
    // 192 bits, as for parts of policies.
    const revision = createHash('sha256').update(objectOf(members)).digest().subarray(0, 24).toString('base64url')
    members.set('revision', canonicalJson(revision))
    return { revision, body: objectOf(members) }
  }
}

/** {@link EncodedConfig} of a configuration that is needed once. */
export function encodeDocument(config: PipyConfig, credentials?: PipyCredentials): EncodedDocument {
  return new EncodedConfig(config).with(credentials)
}

/** Canonical JSON of a document, of that of its members. */
function objectOf(members: ReadonlyMap<string, string>): string {
  const names: readonly string[] = [...members.keys()].sort()
  return `{${names.map((name) => `${JSON.stringify(name)}:${members.get(name) ?? ''}`).join(',')}}`
}
