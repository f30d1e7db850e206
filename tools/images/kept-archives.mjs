import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hashInputs } from '../lib/cache.mjs'
import { root } from '../lib/paths.mjs'

/** Change whenever libraries and packages of this machine do, which are in images too. */
const machineState = ['/var/lib/dpkg/status', '/etc/ld.so.cache']

/**
 * Says of everything that images are made from whether it is as before.
 * @param {object} sources
 * @param {unknown} sources.settings
 * @param {readonly string[]} sources.files read whole
 * @param {readonly string[]} sources.programs of this machine, known by size and time
 */
export function archiveKey({ settings, files, programs }) {
  const here = join(root, 'tools/images')
  const tools = readdirSync(here).flatMap((name) => (/\.mjs$/.test(name) ? [join(here, name)] : []))
  return hashInputs([
    JSON.stringify([settings, process.version]),
    ...[...tools, ...files].map((path) => createHash('sha256').update(readFileSync(path)).digest('hex')),
    ...[...programs, ...machineState].map(identity),
  ])
}

/**
 * Makes archives, unless those of the last time are there as they were and would be the same.
 * @param {string} stamp file that remembers the last time
 * @param {string} key
 * @param {() => Promise<readonly string[]>} make gives the paths of archives
 * @returns {Promise<readonly string[]>}
 */
export async function keptArchives(stamp, key, make) {
  const last = lastTime(stamp)
  const paths = Object.keys(last?.archives ?? {})
  if (last?.key === key && paths.every((path) => identity(path) === last.archives[path])) return paths
  const made = await make()
  const archives = Object.fromEntries(made.map((path) => [path, identity(path)]))
  writeFileSync(stamp, JSON.stringify({ key, archives }))
  return made
}

/**
 * @param {string} stamp
 * @returns {{ key: string, archives: Readonly<Record<string, string>> } | undefined}
 */
function lastTime(stamp) {
  return existsSync(stamp) ? JSON.parse(readFileSync(stamp, 'utf8')) : undefined
}

/** @param {string} path */
function identity(path) {
  if (!existsSync(path)) return `${path}: none`
  const real = realpathSync(path)
  const { size, mtimeMs } = statSync(real)
  return `${real} ${size} ${mtimeMs}`
}
