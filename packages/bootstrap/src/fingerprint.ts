import { createHash } from 'node:crypto'

import { canonicalJson } from '@osm-ts/driver-api/policy'

/** A text that is the same for two JSON values exactly if they are equal; the order of members does not matter. */
export function fingerprint(value: unknown): string {
  return createHash('sha256')
    .update(canonicalJson(JSON.parse(JSON.stringify(value))))
    .digest('base64url')
}
