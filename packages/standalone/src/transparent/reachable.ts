import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

const OTHERS_ENTER = 0o001

/** True if users other than the owner get to a file: every folder above it lets them through. */
export function isReachableByOthers(file: string): boolean {
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & OTHERS_ENTER) === 0) return false
    if (folder === dirname(folder)) return true
  }
}
