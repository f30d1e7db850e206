import { setTimeout as pause } from 'node:timers/promises'

import { findLeftovers } from './process-registry.js'
import { machineProcesses } from './process-identity.js'
import { sendSignal } from './child.js'

const GONE_WITHIN_MS = 5000
const LOOK_AGAIN_MS = 20

/**
 * Ends what a mesh that was killed has left running, and resolves when it is gone: only then are its ports free.
 *
 * @returns how many processes were ended
 */
export async function sweepProcesses(file: string, stateFolder: string): Promise<number> {
  const deadline = performance.now() + GONE_WITHIN_MS
  const ended = new Set<number>()
  for (;;) {
    const left = findLeftovers(file, stateFolder, machineProcesses)
    if (left.length === 0 || performance.now() > deadline) return ended.size
    for (const pid of left) {
      sendSignal(pid, 'SIGKILL')
      ended.add(pid)
    }
    await pause(LOOK_AGAIN_MS)
  }
}
