import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const prefix = 'osm-ts-api-'
/** Memory, where there is such a folder: a database that is thrown away need not wait for a disk. */
const memory = '/dev/shm'

function parent(): string {
  return existsSync(memory) ? memory : tmpdir()
}

/** Makes a folder that bears the number of this process; see {@link sweepRunFolders}. */
export function createRunFolder(): string {
  const folder = mkdtempSync(join(parent(), `${prefix}${String(process.pid)}-`))
  // Pods run as other users: they get through, but not at anything that they are not given.
  chmodSync(folder, 0o711)
  mkdirSync(join(folder, 'logs'))
  return folder
}

/** Removes the folders of processes that have ended without doing so. */
export function sweepRunFolders(): void {
  for (const name of readdirSync(parent())) {
    const pid = /^osm-ts-api-(\d+)-/.exec(name)?.[1]
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(parent(), name), { recursive: true, force: true })
  }
}
