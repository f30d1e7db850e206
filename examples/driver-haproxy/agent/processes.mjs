import { readdirSync, readFileSync } from 'node:fs'

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

/**
 * Processes that run and are children of that one.
 * @param {number | undefined} parent
 * @returns {readonly number[]}
 */
export function childrenOf(parent) {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number)
    .filter((pid) => isChild(pid, parent))
}
