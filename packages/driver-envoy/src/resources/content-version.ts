import { hash } from 'node:crypto'

/** 192 bits in base64url: users write what is hashed here, and must not be able to find two contents with one version. */
const VERSION_LENGTH = 32

/** Content address of some bytes or text. */
export function contentVersion(content: string | Uint8Array): string {
  return hash('sha256', content, 'base64url').slice(0, VERSION_LENGTH)
}
