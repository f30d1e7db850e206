import { closeSync, openSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

import type { ProgramCommand } from '../workload/instance-placement.js'

/** Executables that another user runs, wherever they lie. */
export class OpenBinaries {
  readonly #files = new Map<string, number>()

  /**
   * How to start an executable as another user.
   *
   * @param start - how that user starts a program that it can reach
   */
  command(
    [binary, ...args]: readonly [string, ...string[]],
    start: (argv: readonly [string, ...string[]]) => ProgramCommand,
  ): ProgramCommand {
    if (isReachableByOthers(binary)) return start([binary, ...args])
    // The file is opened here and run through the open file: whose it is and where it lies does not matter then.
    const fd = this.#files.get(binary) ?? openSync(binary, 'r')
    this.#files.set(binary, fd)
    return { ...start(['/proc/self/fd/3', ...args]), files: [fd] }
  }

  close(): void {
    for (const fd of this.#files.values()) closeSync(fd)
    this.#files.clear()
  }
}

const OTHERS_ENTER = 0o001

/** True if users other than the owner get to a file: every folder above it lets them through. */
export function isReachableByOthers(file: string): boolean {
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & OTHERS_ENTER) === 0) return false
    if (folder === dirname(folder)) return true
  }
}
