import { readdirSync, readFileSync } from 'node:fs'

/** A process that this one has started. */
export interface ChildProcessInfo {
  readonly pid: number
  readonly args: readonly string[]
}

/** Those that live, as /proc has them. */
export function childProcesses(): readonly ChildProcessInfo[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const [, parent] = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
        if (Number(parent) !== process.pid) return []
        return [{ pid: Number(pid), args: readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0') }]
      } catch {
        // It has ended meanwhile.
        return []
      }
    })
}
