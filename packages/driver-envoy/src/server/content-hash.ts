import { createHash } from 'node:crypto'

/** 144 bits are enough to name content that nobody can choose freely, and short enough to stand in every log line. */
const HASH_BYTES = 18

/** A short content address. */
export function contentHash(...chunks: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const chunk of chunks) hash.update(chunk)
  return hash.digest().subarray(0, HASH_BYTES).toString('base64url')
}

/** The version of a state: a hash over names and versions. Names without a resource have an empty version. */
export function hashVersions(versions: ReadonlyMap<string, string>): string {
  const names = [...versions.keys()].sort()
  // Neither names nor versions hold a NUL, so that two states never have one text.
  return contentHash(names.map((name) => `${name}\0${versions.get(name) ?? ''}\0`).join(''))
}
