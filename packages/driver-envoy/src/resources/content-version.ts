import { createHash } from 'node:crypto'

/** 192 bits: users write what is hashed here, and must not be able to find two contents with one version. */
const VERSION_BYTES = 24

/** Content address of some bytes or text. */
export function contentVersion(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest().subarray(0, VERSION_BYTES).toString('base64url')
}
