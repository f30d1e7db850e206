import { hash } from 'node:crypto'
import type { PartRef } from '@osm-ts/driver-api/policy'

import type { EncodedResource } from './types.js'

/** 192 bits in base64url: users write what is hashed here, and must not be able to find two contents with one version. */
const VERSION_LENGTH = 32

/** Content address of some bytes or text. */
export function contentVersion(content: string | Uint8Array): string {
  return hash('sha256', content, 'base64url').slice(0, VERSION_LENGTH)
}

/** Names encoded bytes and gives them their version. */
export function encodedResource(name: string, value: Uint8Array, sources: readonly PartRef[]): EncodedResource {
  return { name, version: contentVersion(value), value, sources }
}
