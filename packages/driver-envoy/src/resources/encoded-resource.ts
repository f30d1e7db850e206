import type { PartRef } from '@osm-ts/driver-api/policy'

import { contentVersion } from './content-version.js'
import type { EncodedResource } from './types.js'

/** Names encoded bytes and gives them their version. */
export function encodedResource(name: string, value: Uint8Array, sources: readonly PartRef[]): EncodedResource {
  return { name, version: contentVersion(value), value, sources }
}
