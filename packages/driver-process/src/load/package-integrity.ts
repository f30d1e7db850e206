import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

import { isOsmError, type OsmError } from '@osm-ts/driver-api'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { processError } from '../wire/failure.js'

/** More than a driver needs with everything it depends on, and little enough to be read at every start. */
const MAX_FILES = 20_000
const MAX_BYTES = 256 << 20

/**
 * The digest of a package folder: SHA-512 over a line for each file and link in the order of their paths, `file <path> <bytes> <sha512 of the content>` or
 * `link <path> <target>`, the parts as JSON. Times, owners and modes do not count, so that a copy has the digest of the original.
 *
 * @returns `sha512-` and Base64, as npm writes digests
 * @throws OsmError with code `OSM_DRIVER_INTEGRITY` for what can't be read or is not a file, folder or link inside
 */
export async function packageIntegrity(folder: string): Promise<string> {
  return readPackage(folder, undefined)
}

/**
 * Copies a package folder, if it has that digest. What is copied are the bytes that were looked at: anyone who changes the folder meanwhile, or later, changes nothing.
 *
 * @throws OsmError with code `OSM_DRIVER_INTEGRITY`, naming both digests
 */
export async function copyVerified(folder: string, integrity: string, target: string): Promise<void> {
  const actual = await readPackage(folder, target)
  if (actual !== integrity)
    throw refused(folder, `has the digest ${actual}, and the list names ${integrity}; it is not loaded`)
}

async function readPackage(folder: string, target: string | undefined): Promise<string> {
  try {
    return await digestOf(folder, target)
  } catch (cause) {
    if (isOsmError(cause)) throw cause
    throw refused(folder, `cannot be read: ${errorMessage(cause)}`)
  }
}

async function digestOf(folder: string, target: string | undefined): Promise<string> {
  const digest = createHash('sha512')
  let bytes = 0
  for (const { path, kind } of await listed(folder)) {
    const from = join(folder, path)
    const to = target === undefined ? undefined : join(target, path)
    if (to !== undefined) await mkdir(dirname(to), { recursive: true })
    if (kind === 'link') {
      const leadsTo = await readlink(from)
      const inside = relative(folder, resolve(dirname(from), leadsTo))
      if (isAbsolute(leadsTo) || inside === '..' || inside.startsWith(`..${sep}`))
        throw refused(folder, `has a link ${path} that leads out of it`)
      digest.update(`link ${JSON.stringify(path)} ${JSON.stringify(leadsTo)}\n`)
      if (to !== undefined) await symlink(leadsTo, to)
      continue
    }
    const content = await readFile(from)
    bytes += content.length
    if (bytes > MAX_BYTES) throw refused(folder, `has more than ${MAX_BYTES} bytes`)
    const own = createHash('sha512').update(content).digest('hex')
    digest.update(`file ${JSON.stringify(path)} ${content.length} ${own}\n`)
    // What can be run stays so: a package may bring the program that it names.
    if (to !== undefined)
      await writeFile(to, content, { flag: 'wx', mode: (await stat(from)).mode & 0o111 ? 0o755 : 0o644 })
  }
  return `sha512-${digest.digest('base64')}`
}

interface Listed {
  readonly path: string
  readonly kind: 'file' | 'link'
}

async function listed(folder: string): Promise<readonly Listed[]> {
  const found: Listed[] = []
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/')
    if (entry.isDirectory()) continue
    if (!entry.isFile() && !entry.isSymbolicLink())
      throw refused(folder, `has ${path}, which is neither file nor folder nor link`)
    found.push({ path, kind: entry.isFile() ? 'file' : 'link' })
    if (found.length > MAX_FILES) throw refused(folder, `has more than ${MAX_FILES} files`)
  }
  // By code units, whatever the locale.
  return found.sort((a, b) => (a.path < b.path ? -1 : 1))
}

function refused(folder: string, what: string): OsmError {
  return processError('OSM_DRIVER_INTEGRITY', `driver package ${folder} ${what}`, { folder })
}
