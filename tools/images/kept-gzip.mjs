import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { cacheRoot } from '../lib/paths.mjs'

/** Below this, compressing takes no longer than looking. */
const smallest = 8e6

/**
 * Compresses as gzipSync does, and keeps what was large: the programs of this machine are the same in every image, and take seconds.
 * @param {Buffer} content
 * @param {string} [parent] the cache
 * @returns {Buffer}
 */
export function keptGzip(content, parent = cacheRoot()) {
  if (content.length < smallest) return gzipSync(content)
  const digest = createHash('sha256').update(content).digest('hex')
  const folder = join(parent, 'layers')
  // Another compressor may give other bytes.
  const path = join(folder, `${digest}-zlib-${process.versions.zlib}.gz`)
  if (existsSync(path)) return readFileSync(path)
  const compressed = gzipSync(content)
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${path}.${process.pid}`, compressed)
  renameSync(`${path}.${process.pid}`, path)
  return compressed
}
