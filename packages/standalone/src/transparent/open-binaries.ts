import { closeSync, openSync } from 'node:fs'

import type { ProgramCommand } from '../workload/instance-placement.js'
import { isReachableByOthers } from './reachable.js'

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
