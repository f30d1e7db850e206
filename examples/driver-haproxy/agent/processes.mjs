import { readFileSync } from 'node:fs'

/**
 * True if a process runs, and is a child of that one.
 * @param {number} pid
 * @param {number | undefined} parent
 */
export function isChild(pid, parent) {
  try {
    return /^PPid:\s+([0-9]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] === String(parent)
  } catch {
    return false
  }
}
