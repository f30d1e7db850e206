import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheRoot } from './paths.mjs'

/**
 * A short digest of everything that decides what a cached folder holds.
 * @param {readonly (string | Uint8Array)[]} inputs
 */
export function hashInputs(inputs) {
  const hash = createHash('sha256')
  // The length in front keeps ['ab', 'c'] and ['a', 'bc'] apart.
  for (const input of inputs) hash.update(`${input.length}:`).update(input)
  return hash.digest('hex').slice(0, 16)
}

/**
 * The cached folder of that name. If it is missing, `fill` makes it in a temporary folder that is then renamed, so
 * that no one ever sees half of it. Of two processes filling it at once the first to finish wins.
 * @param {string} name
 * @param {(folder: string) => Promise<void>} fill
 * @param {string} [parent]
 */
export async function cachedFolder(name, fill, parent = cacheRoot()) {
  const folder = join(parent, name)
  if (existsSync(folder)) return folder
  await mkdir(parent, { recursive: true })
  const partial = await mkdtemp(join(parent, `.${name}-`))
  try {
    // mkdtemp keeps others out, who may run the same checkout or share the cache.
    await chmod(partial, 0o755)
    await fill(partial)
    await rename(partial, folder).catch((/** @type {unknown} */ error) => {
      if (!existsSync(folder)) throw error
    })
    return folder
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
}
