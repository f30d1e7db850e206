import { chownSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Replaces a file in one step: readers see the old content or the new one, never a part.
 *
 * Synchronous, so that two writes of one file can't overtake each other. The temporary name is hidden, which readers of folders skip.
 *
 * @param owner - numeric id of the user and group that the file is given to
 */
export function writeFileAtomic(path: string, content: string, mode = 0o600, owner?: number): void {
  const temporary = join(dirname(path), `.${basename(path)}.tmp`)
  try {
    writeFileSync(temporary, content, { mode })
    if (owner !== undefined) chownSync(temporary, owner, owner)
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}
